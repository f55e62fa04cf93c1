/** A file of the workspace changed again and again while it was read. Never leaves the engine. */
export class UnstableFile extends Error {
  override readonly name = 'UnstableFile'
  readonly path: string

  constructor(path: string) {
    super(`${path} changed while it was read`)
    this.path = path
  }
}
