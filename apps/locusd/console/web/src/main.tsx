// SPDX-License-Identifier: Apache-2.0
import "@picocss/pico/css/pico.min.css";
import "uplot/dist/uPlot.min.css";
import "./style/theme.css";
import "./style/frame.css";
import "./style/parts.css";
import "./style/drawings.css";
import "./style/media.css";
import { render } from "preact";
import { App } from "./app";

const page = document.getElementById("page");
if (page !== null) {
  page.textContent = "";
  render(<App />, page);
}
