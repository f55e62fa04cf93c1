/** `exit`, and failures under `set -e`. */
export class ShellExit extends Error {
  override readonly name = 'ShellExit'
  readonly status: number

  constructor(status: number) {
    super('exit')
    this.status = status
  }
}

export class BreakLoop extends Error {
  override readonly name = 'BreakLoop'
  readonly levels: number

  constructor(levels: number) {
    super('break')
    this.levels = levels
  }
}

export class ContinueLoop extends Error {
  override readonly name = 'ContinueLoop'
  readonly levels: number

  constructor(levels: number) {
    super('continue')
    this.levels = levels
  }
}
