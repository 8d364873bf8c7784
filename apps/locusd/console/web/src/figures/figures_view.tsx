// SPDX-License-Identifier: Apache-2.0
import type { Stats, StatsHistory, StoreStats } from "../api";
import { count, duration, percent, rate, shortDuration, thousands, utc } from "../base/format";
import { Badge, Card, Empty, ProblemNote, Scroll, Waiting } from "../base/parts";
import { history, offers, said, stats } from "../base/state";
import { Chart } from "./chart";
import { type Series, summary } from "./points";

interface Figure {
  title: string;
  series: Series;
  text: (value: number) => string;
  // Shorter, for the axis; `text` without it.
  tick?: (value: number) => string;
  // What it means, and from where on it is bad.
  hint: string;
  limit?: number | undefined;
  // Of a count within each step: what is said is the sum.
  sum?: boolean;
}

const countSteps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000, 100_000];
const durationSteps = [1, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 36_000, 86_400].map(
  (seconds) => 1000 * seconds,
);

const times = (value: number) => thousands(Math.round(value));

function figuresOf(now: Stats): Figure[] {
  const made: Figure[] = [];
  const headroom = now.orders?.headroom;
  if (now.orders !== null) {
    made.push(
      { title: "Order IDs", series: "orders_per_second", text: rate, hint: "given out, a second" },
      {
        title: "Starvation",
        series: "starved",
        text: times,
        sum: true,
        hint: "times that a section had nothing left and callers were refused",
      },
      {
        title: "Autonomy",
        series: "autonomy_ms",
        text: duration,
        tick: shortDuration,
        limit: 120_000,
        hint: "how long it goes on without its store; below 2 min is too little",
      },
      {
        title: "Lead",
        series: "lead_ms",
        text: duration,
        tick: shortDuration,
        hint:
          headroom === undefined
            ? "how far leases run ahead of time; a new store begins about 19 min ahead"
            : `how far leases run ahead of time; ${percent(headroom)} of their headroom are left`,
      },
      {
        title: "Clock offset",
        series: "clock_offset_ms",
        text: duration,
        hint: "the store's clock less this one's; beyond 1 s is bad, beyond 60 s nothing is leased",
      },
      {
        title: "Store failures",
        series: "store_failures",
        text: times,
        sum: true,
        hint: "calls to the store that failed",
      },
      {
        title: "Losses",
        series: "losses",
        text: times,
        sum: true,
        hint: "times that the store may have forgotten leases",
      },
    );
  }
  if (now.snowflake !== null) {
    made.push(
      {
        title: "Snowflake IDs",
        series: "snowflakes_per_second",
        text: rate,
        hint: "given out, a second",
      },
      {
        title: "Worker lease",
        series: "ownership_left_ms",
        text: duration,
        tick: shortDuration,
        hint: "until its deadline; it is renewed long before",
      },
    );
  }
  if (now.sequences.length > 0) {
    made.push({
      title: "Sequence numbers",
      series: "numbers_per_second",
      text: rate,
      hint: "given out, a second, of all sequences",
    });
  }
  return made;
}

function FigureCard({ figure, points }: { figure: Figure; points: StatsHistory }) {
  const values = points[figure.series];
  const known = summary(values);
  const sum = values.reduce<number>((all, value) => all + (value ?? 0), 0);
  const span = duration(points.at_ms.length * points.step_ms);
  const shown =
    known === null ? "not known" : figure.sum ? times(sum) : figure.text(known.last ?? known.most);
  const label =
    known === null
      ? `${figure.title}: not known yet`
      : `${figure.title} over ${span}: now ${known.last === null ? "not known" : figure.text(known.last)}, least ${figure.text(known.least)}, most ${figure.text(known.most)}`;
  return (
    <Card title={figure.title} class="figure">
      <p class="figure-now">
        {shown}
        {figure.sum && known !== null && <small> in {span}</small>}
      </p>
      <Chart
        at={points.at_ms}
        values={values}
        text={figure.tick ?? figure.text}
        steps={figure.sum ? countSteps : figure.tick ? durationSteps : undefined}
        limit={figure.limit}
        label={label}
      />
      <p class="hint">{figure.hint}</p>
    </Card>
  );
}

function Store({ store }: { store: StoreStats }) {
  const wrong =
    store.error ??
    (store.stalled_ms > 2000 ? `a call waits for ${duration(store.stalled_ms)}` : null);
  const quantile = (ms: number | null) => (ms === null ? "–" : `≤ ${duration(ms)}`);
  return (
    <tr>
      <th scope="row">
        <bdi class="break">{store.name || "the store"}</bdi>
        <small>
          {" "}
          sections {store.first_section} – {store.last_section}
        </small>
      </th>
      <td>
        {wrong === null ? <Badge tone="good">answers</Badge> : <Badge tone="bad">{wrong}</Badge>}
      </td>
      <td class="number">{thousands(store.allocations)}</td>
      <td class="number">{thousands(store.store_failures)}</td>
      <td class="number">{thousands(store.losses)}</td>
      <td class="number">{store.autonomy_ms === null ? "–" : duration(store.autonomy_ms)}</td>
      <td class="number">{duration(store.lead_ms)}</td>
      <td class="number">{duration(store.clock_offset_ms)}</td>
      <td class="number">
        {quantile(store.store_latency.p50_ms)}, {quantile(store.store_latency.p99_ms)}
      </td>
    </tr>
  );
}

const storeHeadings = [
  ["store", "state"],
  ["leases", "failures", "losses", "autonomy", "lead", "clock offset", "lease p50, p99"],
] as const;

function Stores({ stores }: { stores: StoreStats[] }) {
  return (
    <Card title="ID stores">
      <Scroll label="ID stores">
        <table class="dense">
          <thead>
            <tr>
              {storeHeadings[0].map((heading) => (
                <th key={heading} scope="col">
                  {heading}
                </th>
              ))}
              {storeHeadings[1].map((heading) => (
                <th key={heading} scope="col" class="number">
                  {heading}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {stores.map((store) => (
              <Store key={store.name + store.first_section} store={store} />
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

function Sequences({ now }: { now: Stats }) {
  return (
    <Card
      title="Sequences"
      aside={now.more_sequences > 0 ? `and ${thousands(now.more_sequences)} more` : undefined}
    >
      <Scroll label="Sequences">
        <table class="dense">
          <thead>
            <tr>
              <th scope="col">name</th>
              {["numbers", "a second", "autonomy", "starved"].map((heading) => (
                <th key={heading} scope="col" class="number">
                  {heading}
                </th>
              ))}
              <th scope="col">store</th>
            </tr>
          </thead>
          <tbody>
            {now.sequences.map((each) => (
              <tr key={each.name}>
                <th scope="row">
                  <bdi class="break">{each.name}</bdi>
                </th>
                <td class="number">{thousands(each.numbers)}</td>
                <td class="number">{rate(each.numbers_per_second)}</td>
                <td class="number">
                  {each.autonomy_ms === null ? "–" : duration(each.autonomy_ms)}
                </td>
                <td class="number">{thousands(each.starved)}</td>
                <td>
                  {each.store_error === null ? (
                    <Badge tone="good">answers</Badge>
                  ) : (
                    <Badge tone="bad">{each.store_error}</Badge>
                  )}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
}

function ProcessFacts({ now }: { now: Stats }) {
  const { process, snowflake, orders } = now;
  return (
    <Card title="This process">
      <dl class="facts">
        <dt>runs since</dt>
        <dd>
          {utc(process.started_at_ms)} ({duration(now.at_ms - process.started_at_ms)})
        </dd>
        <dt>order IDs</dt>
        <dd>{orders === null ? "none here" : thousands(orders.ids)}</dd>
        {snowflake !== null && (
          <>
            <dt>Snowflake worker</dt>
            <dd>
              {snowflake.worker}, {snowflake.held ? "held" : "not held"};{" "}
              {snowflake.years_left.toFixed(1)} years left of its time;{" "}
              {count(snowflake.renewals, "renewal")}, {thousands(snowflake.renewal_failures)}{" "}
              failed; clock set back {count(snowflake.rollbacks, "time")}
              {snowflake.rollbacks > 0 && `, furthest ${duration(snowflake.furthest_rollback_ms)}`}
            </dd>
          </>
        )}
        <dt>pages that follow</dt>
        <dd>
          {process.streams} of {process.most_streams}; {process.slow_streams} were too slow
        </dd>
      </dl>
    </Card>
  );
}

export function FiguresView() {
  const { value, problem } = stats.value;
  const points = history.value;
  if (value === null || points === null) {
    return problem ? <ProblemNote problem={problem} /> : <Waiting what="the figures" />;
  }
  const figures = figuresOf(value);
  return (
    <>
      {figures.length === 0 && (
        <Empty title="No IDs are served here">
          <p>{said("stats") ?? "This process has no ID service, so it counts none."}</p>
        </Empty>
      )}
      <div class="figure-grid">
        {figures.map((figure) => (
          <FigureCard key={figure.series} figure={figure} points={points} />
        ))}
      </div>
      {value.orders !== null && value.orders.stores.length > 0 && (
        <Stores stores={value.orders.stores} />
      )}
      {value.sequences.length > 0 && <Sequences now={value} />}
      {offers.value?.stats !== false && <ProcessFacts now={value} />}
    </>
  );
}
