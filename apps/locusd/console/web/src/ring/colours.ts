// SPDX-License-Identifier: Apache-2.0
// Which look a shard has, everywhere on the page: one of 8 colours, and from the ninth shard on a
// texture as well. Its number stands beside it, too: no colour is the only sign.

const hues = 8;
const textures = 3;

export interface Look {
  hue: number;
  texture: number;
}

export function lookOf(index: number): Look {
  return { hue: index % hues, texture: Math.floor(index / hues) % textures };
}

// By the shards' order in the table, so that a shard keeps its look while others come behind it.
export function looksOf(shards: { id: number }[]): Map<number, Look> {
  return new Map(shards.map((shard, index) => [shard.id, lookOf(index)]));
}

export function className(look: Look | undefined): string {
  if (look === undefined) return "shard unknown";
  return `shard hue-${look.hue} texture-${look.texture}`;
}
