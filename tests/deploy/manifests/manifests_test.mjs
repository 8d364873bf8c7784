// SPDX-License-Identifier: Apache-2.0
// The manifests in deploy/kubernetes against the schemas that Kubernetes publishes: values, formats and
// required members by kubernetes-models, unknown members by the types of kubernetes-types. Then what
// no schema sees: that names, ports, volumes and labels of different documents fit, and that locusd
// takes the configuration files.
// usage: node manifests_test.mjs      NODE_MODULES: where the packages of package.json are
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync, copyFileSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../../..');
const modules = process.env.NODE_MODULES ?? join(dirname(fileURLToPath(import.meta.url)), 'node_modules');
const require = createRequire(join(modules, 'x.js'));
const { parseAllDocuments } = require('yaml');
const locusd = process.env.LOCUS_LOCUSD_PROGRAM;
const scratch = mkdtempSync(join(tmpdir(), 'locus-manifests-'));
after(() => rmSync(scratch, { recursive: true }));

// [{file, value}]: each document. Kubernetes reads YAML 1.1: 0440 is octal.
const documents = readdirSync(join(root, 'deploy/kubernetes'), { recursive: true })
  .filter((name) => name.endsWith('.yaml'))
  .flatMap((name) =>
    parseAllDocuments(readFileSync(join(root, 'deploy/kubernetes', name), 'utf8'), {
      version: '1.1',
      uniqueKeys: true,
    }).map((document) => {
      assert.deepEqual(document.errors, [], name);
      return { file: name, value: document.toJS() };
    }),
  );
const of = (kind) => documents.filter(({ value }) => value.kind === kind);
const named = (kind, name) => {
  const found = of(kind).filter(({ value }) => value.metadata.name === name);
  assert.equal(found.length, 1, `${kind} ${name}`);
  return found[0].value;
};
// Where its pods come from, of those that have pods.
const podOf = (value) => value.spec?.template?.spec;
const withPods = documents.filter(({ value }) => podOf(value) !== undefined);
// "networking.k8s.io/v1" -> the folder of a package.
const folderOf = (apiVersion) => (apiVersion.includes('/') ? apiVersion : `core/${apiVersion}`);

test('there are manifests', () => assert.ok(documents.length >= 10));

for (const { file, value } of documents) {
  test(`${file}: ${value.kind} ${value.metadata.name} fits its schema`, () => {
    const models = require(`kubernetes-models/${value.apiVersion}`);
    new models[value.kind](value).validate();
  });
}

test('no member is unknown to Kubernetes', () => {
  const lines = documents.map(({ file, value }, i) => {
    const types = `kubernetes-types/${folderOf(value.apiVersion).replace('.k8s.io', '')}`;
    return `import type { ${value.kind} as T${i} } from '${types}';\n// ${file}\nexport const v${i}: T${i} = ${JSON.stringify(value)};`;
  });
  const project = join(scratch, 'tsconfig.json');
  writeFileSync(project, JSON.stringify({
    compilerOptions: {
      noEmit: true, strict: true, module: 'esnext', moduleResolution: 'bundler', types: [],
      paths: { 'kubernetes-types/*': [join(modules, 'kubernetes-types/*')] },
    },
    files: ['manifests.ts'],
  }));
  const check = (text) => {
    writeFileSync(join(scratch, 'manifests.ts'), text);
    return spawnSync(process.execPath, [require.resolve('typescript/lib/tsc.js'), '--project', project], { encoding: 'utf8' });
  };
  const checked = check(lines.join('\n'));
  assert.equal(checked.status, 0, checked.stdout);
  const misspelt = check(lines.join('\n').replace('"terminationGracePeriodSeconds"', '"terminationGraceSeconds"'));
  assert.notEqual(misspelt.status, 0, 'a misspelt member is not noticed');
});

test('pods are those of a restricted namespace', () => {
  assert.ok(withPods.length >= 3);
  for (const { file, value } of withPods) {
    const pod = podOf(value);
    const context = pod.securityContext;
    assert.ok(context.runAsNonRoot && context.runAsUser > 0 && context.fsGroup > 0, file);
    assert.equal(context.seccompProfile.type, 'RuntimeDefault', file);
    assert.equal(pod.automountServiceAccountToken, false, file);
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      const { allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities } = container.securityContext;
      assert.deepEqual([allowPrivilegeEscalation, readOnlyRootFilesystem, capabilities.drop], [false, true, ['ALL']], file);
    }
  }
});

test('volumes, ports, claims and labels fit', () => {
  for (const { file, value } of withPods) {
    const pod = podOf(value);
    const claims = (value.spec.volumeClaimTemplates ?? []).map((claim) => claim.metadata.name);
    const volumes = new Set([...pod.volumes.map((volume) => volume.name), ...claims]);
    const used = new Set();
    for (const container of [...(pod.initContainers ?? []), ...pod.containers]) {
      for (const mount of container.volumeMounts) used.add(mount.name);
      const ports = (container.ports ?? []).map((port) => port.name);
      for (const probe of ['startupProbe', 'livenessProbe', 'readinessProbe']) {
        if (container[probe]) assert.ok(ports.includes(container[probe].httpGet.port), `${file}: ${probe}`);
      }
    }
    assert.deepEqual([...used].sort(), [...volumes].sort(), file);
    for (const volume of pod.volumes) {
      if (volume.configMap) named('ConfigMap', volume.configMap.name);
      // locusd takes no key that a group may read: `prepare` makes private copies.
      if (volume.secret) assert.equal(volume.secret.defaultMode, 0o440, file);
    }
    named('ServiceAccount', pod.serviceAccountName);
    const labels = value.spec.template.metadata.labels;
    if (value.spec.selector) {
      for (const [name, text] of Object.entries(value.spec.selector.matchLabels)) assert.equal(labels[name], text, file);
    }
  }
  for (const kind of ['Service', 'PodDisruptionBudget', 'NetworkPolicy']) {
    for (const { file, value } of of(kind)) {
      const selector = value.spec.podSelector?.matchLabels ?? value.spec.selector.matchLabels ?? value.spec.selector;
      const selected = withPods.filter(({ value: pods }) =>
        Object.entries(selector).every(([name, text]) => pods.spec.template.metadata.labels[name] === text));
      assert.ok(selected.length >= 1, `${file}: ${kind} selects nothing`);
      const ports = new Set(selected.flatMap(({ value: pods }) =>
        podOf(pods).containers.flatMap((container) => (container.ports ?? []).map((port) => port.name))));
      const wanted = [
        ...(value.spec.ports ?? []).map((port) => port.targetPort),
        ...(value.spec.ingress ?? []).flatMap((rule) => (rule.ports ?? []).map((port) => port.port)),
      ];
      for (const port of wanted) assert.ok(ports.has(port), `${file}: port ${port}`);
    }
  }
});

test('the first node is begun by an operator, and never by its pod', () => {
  const nodes = named('StatefulSet', 'locusd');
  assert.ok(!JSON.stringify(nodes).includes('--begin'));
  const begin = named('Job', 'locusd-begin');
  assert.equal(begin.spec.backoffLimit, 0);
  assert.equal(begin.spec.template.spec.restartPolicy, 'Never');
  const claim = `${nodes.spec.volumeClaimTemplates[0].metadata.name}-${nodes.metadata.name}-0`;
  named('PersistentVolumeClaim', claim);
  assert.ok(begin.spec.template.spec.volumes.some((volume) => volume.persistentVolumeClaim?.claimName === claim));
  assert.deepEqual(named('PersistentVolumeClaim', claim).spec, nodes.spec.volumeClaimTemplates[0].spec);
});

// --- the configuration files, with keys and tokens as `prepare` leaves them

const run = (command, words, options = {}) => {
  const ran = spawnSync(command, words, { encoding: 'utf8', ...options });
  assert.equal(ran.status, 0, `${command} ${words.join(' ')}: ${ran.stdout}${ran.stderr}`);
  return ran.stdout;
};

function makeKeys(directory) {
  mkdirSync(directory);
  for (const name of ['raft', 'api']) {
    run('openssl', ['req', '-x509', '-newkey', 'ed25519', '-nodes', '-days', '2', '-subj', '/CN=test',
      // `--check` wants the node's own name in it, as the other nodes do.
      '-addext', 'subjectAltName=DNS:*.locusd-nodes.locus.svc.cluster.local',
      '-keyout', join(directory, `${name}.key`), '-out', join(directory, `${name}.pem`)]);
    writeFileSync(join(directory, `${name}-ca.pem`), readFileSync(join(directory, `${name}.pem`)));
  }
}

// A ConfigMap's folder, its pods, and their paths as `here` leads them to.
function prepare({ file, value }) {
  const [name] = Object.keys(value.data).filter((key) => key.endsWith('.toml'));
  const pods = withPods.find(({ value: pods, file: other }) =>
    dirname(other) === dirname(file) && podOf(pods).volumes.some((volume) => volume.configMap?.name === value.metadata.name)
    && pods.kind !== 'Job').value;
  const [init] = podOf(pods).initContainers;
  const place = mkdtempSync(join(scratch, 'pod-'));
  for (const folder of ['config', 'etc', 'data']) mkdirSync(join(place, folder));
  makeKeys(join(place, 'keys'));
  // Every other file that the configuration names is a key ring, a token or a password.
  for (const [, wanted] of value.data[name].matchAll(/\/etc\/locusd\/([\w.-]+)/g)) {
    if (existsSync(join(place, 'keys', wanted)) || wanted.endsWith('.toml')) continue;
    if (wanted.endsWith('-ca.pem')) copyFileSync(join(place, 'keys', 'api.pem'), join(place, 'keys', wanted));
    else if (wanted.endsWith('.keys')) run(process.env.LOCUS_PROGRAM, ['keys', 'new', join(place, 'keys', wanted)]);
    else writeFileSync(join(place, 'keys', wanted), `${wanted}-0123456789abcdef\n`);
  }
  for (const key of readdirSync(join(place, 'keys'))) chmodSync(join(place, 'keys', key), 0o440);
  const here = (text) => text
    .replaceAll('/run/keys', join(place, 'keys'))
    .replaceAll('/run/config', join(place, 'config'))
    .replaceAll('/var/lib/locusd', join(place, 'data'))
    .replaceAll('/etc/locusd', join(place, 'etc'));
  for (const [key, text] of Object.entries(value.data)) writeFileSync(join(place, 'config', key), here(text));
  const options = { env: { ...process.env, POD: 'locusd-0', PATH: `${dirname(locusd)}:${process.env.PATH}` } };
  const [shell, ...words] = init.command;
  const again = () => run(shell, [...words, here(init.args[0])], options);
  return { name, pods, place, here, options, again };
}

for (const map of of('ConfigMap')) {
  test(`${map.file}: locusd takes its file, prepared as in its pods`, () => {
    assert.ok(locusd, 'LOCUS_LOCUSD_PROGRAM is not set');
    const { name, pods, again } = prepare(map);
    assert.match(again(), /ok/);
    again(); // a restarted pod prepares once more
    // The ports that the file listens on are the container's.
    const listens = [...map.value.data[name].matchAll(/^listen = ".*:(\d+)"/gm)].map(([, port]) => Number(port));
    const ports = podOf(pods).containers[0].ports.map((port) => port.containerPort);
    assert.deepEqual(listens.sort(), ports.sort());
  });
}

test('begin.yaml begins once, and not where a node runs', async () => {
  const [container] = podOf(named('Job', 'locusd-begin')).containers;
  const [shell, ...words] = container.command;
  const map = documents.find(({ value }) => value.kind === 'ConfigMap' && value.metadata.name === 'locusd');
  const { place, here, options, again } = prepare(map);
  again();
  const env = { ...options.env, LOCUS_PASSWORD_FILE: join(place, 'etc/operator.token') };
  // The nodes are at 127.0.0.1 to 127.0.0.3. Asynchronous: a server of this process answers meanwhile.
  const begin = (port) => new Promise((ended) => {
    const script = here(container.args[0]).replaceAll(/locusd-\$node\S*:7070/g, `127.0.0.$((node + 1)):${port}`);
    const child = spawn(shell, [...words, script], { env });
    let said = '';
    child.stderr.on('data', (text) => { said += text; });
    child.on('close', (status) => ended({ status, said }));
  });
  const node = join(place, 'data/node/node.db');
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume().end('HTTP/1.1 400 Bad Request\r\n\r\n');
  });
  await new Promise((listening) => server.listen(0, '127.0.0.2', listening));
  const { port } = server.address();
  const refused = await begin(port);
  assert.equal(refused.status, 1, refused.said);
  assert.match(refused.said, /nothing was begun/);
  assert.ok(!existsSync(node));
  await new Promise((closed) => server.close(closed));
  const first = await begin(port);
  assert.equal(first.status, 0, first.said);
  assert.ok(existsSync(node));
  const second = await begin(port);
  assert.equal(second.status, 2, second.said);
  assert.match(second.said, /has begun or joined a cluster before/);
});
