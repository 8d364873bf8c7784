// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";

interface Props {
  at: number[];
  values: (number | null)[];
  // For the axis.
  text: (value: number) => string;
  // Steps of the axis; without it, those of numbers.
  steps?: number[] | undefined;
  // A threshold, drawn as a dashed line.
  limit?: number | undefined;
  label: string;
}

const height = 96;
const dark = () => matchMedia("(prefers-color-scheme: dark)");

function colour(of: Element, name: string): string {
  return getComputedStyle(of).getPropertyValue(name).trim();
}

function options(
  box: HTMLElement,
  text: (value: number) => string,
  steps: number[] | undefined,
): uPlot.Options {
  const ink = () => colour(box, "--muted");
  const font = "11px system-ui, sans-serif";
  return {
    width: Math.max(120, box.clientWidth),
    height,
    legend: { show: false },
    cursor: { show: false },
    padding: [6, 18, 0, 0],
    scales: {
      x: { time: true },
      y: {
        range: (_, least, most) =>
          most > least ? [Math.min(0, least), most] : [Math.min(0, least), Math.max(1, most)],
      },
    },
    axes: [
      {
        stroke: ink,
        font,
        size: 20,
        gap: 2,
        space: 90,
        grid: { show: false },
        ticks: { show: false },
        values: (_, ticks) =>
          ticks.map((tick) => new Date(tick * 1000).toISOString().slice(11, 16)),
      },
      {
        stroke: ink,
        font,
        size: 58,
        gap: 2,
        space: 26,
        ...(steps && { incrs: steps }),
        grid: { stroke: () => colour(box, "--line"), width: 1 },
        ticks: { show: false },
        values: (_, ticks) => ticks.map((tick) => text(tick)),
      },
    ],
    series: [
      {},
      {
        stroke: () => colour(box, "--accent"),
        fill: () => colour(box, "--accent-soft"),
        width: 1.5,
        points: { show: false },
        spanGaps: false,
      },
      { stroke: () => colour(box, "--warn"), width: 1, dash: [4, 4], points: { show: false } },
    ],
  };
}

// A small line over the last minutes. What it shows stands in words beside it: see FigureCard.
export function Chart({ at, values, text, steps, limit, label }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const shown = useRef(text);
  shown.current = text;
  useEffect(() => {
    const element = box.current;
    if (element === null) return;
    const made = new uPlot(
      options(element, (value) => shown.current(value), steps),
      [[], [], []],
      element,
    );
    plot.current = made;
    const resized = new ResizeObserver(() =>
      made.setSize({ width: Math.max(120, element.clientWidth), height }),
    );
    resized.observe(element);
    const redraw = () => made.redraw(false);
    const scheme = dark();
    scheme.addEventListener("change", redraw);
    return () => {
      scheme.removeEventListener("change", redraw);
      resized.disconnect();
      made.destroy();
      plot.current = null;
    };
  }, [steps]);
  useEffect(() => {
    const limits = at.map(() => limit ?? null);
    plot.current?.setData([at.map((ms) => ms / 1000), values, limits]);
  }, [at, values, limit]);
  return <div ref={box} class="chart" role="img" aria-label={label} />;
}
