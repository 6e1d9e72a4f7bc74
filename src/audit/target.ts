/** Where the lines of a log go. */
export interface Target {
  /** What people call it. */
  readonly name: string;
  /** Which file of its log it is, from 1. */
  readonly part: number;
  /** Whether the line before was cut, so that what is written next has to say so. */
  readonly cut: boolean;
  /** Whether what comes next belongs into another file. */
  readonly full: boolean;
  /** How many lines that it had taken are lost. */
  readonly lost: number;
  /** Is told when lines are lost that it had taken. */
  onError: (error: Error) => void;
  /**
   * Writes a line.
   *
   * @throws when it cannot be written, or not all of it.
   */
  write(line: string): void;
  /** Forces what was written to the disk, where there is one. */
  sync(): void;
  /** Begins the next file. */
  rotate(): void;
  close(): Promise<void>;
}
