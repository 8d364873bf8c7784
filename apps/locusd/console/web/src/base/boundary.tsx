// SPDX-License-Identifier: Apache-2.0
import { Component, type ComponentChildren } from "preact";

interface Props {
  // What is drawn; another one is tried anew.
  name: string;
  children: ComponentChildren;
}

// A view that cannot be drawn says so, and leaves the rest of the page as it is.
export class Boundary extends Component<Props, { name: string; wrong: string | null }> {
  override state = { name: this.props.name, wrong: null as string | null };

  override componentDidCatch(error: unknown): void {
    // For who mends it; the page shows the words only.
    console.error(error);
    this.setState({ wrong: error instanceof Error ? error.message : String(error) });
  }

  override componentDidUpdate(): void {
    const { name } = this.props;
    if (name !== this.state.name) this.setState({ name, wrong: null });
  }

  override render() {
    if (this.state.wrong === null || this.props.name !== this.state.name)
      return this.props.children;
    return (
      <p class="note bad" role="alert">
        This view cannot be drawn: {this.state.wrong}. That is a defect of the page; locusd is not
        touched by it. Load the page again, or use the command line.
      </p>
    );
  }
}
