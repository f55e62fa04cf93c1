/**
 * # A patch, as models write it
 *
 * ```
 * *** Begin Patch
 * *** Update File: src/app.ts
 * *** Move to: src/main.ts          (optional)
 * @@ class App {                    (anchor: a line of the file after which to look; several are stacked)
 * @@   run() {
 *      const port = 80              (context, removed and added lines, each with its mark)
 * -    listen(port)
 * +    await listen(port)
 * *** End of File                   (optional: these lines are the file's last)
 * *** Add File: notes.txt
 * +every line of it, with a plus
 * *** Delete File: old.txt
 * *** End Patch
 * ```
 */
export interface AddFile {
  readonly kind: 'add'
  readonly path: string
  /** Line of the patch where the section begins, from 1. */
  readonly line: number
  readonly text: string
}

export interface DeleteFile {
  readonly kind: 'delete'
  readonly path: string
  readonly line: number
}

export interface UpdateFile {
  readonly kind: 'update'
  readonly path: string
  readonly line: number
  readonly moveTo: string | null
  /** None only when the file is moved. */
  readonly hunks: readonly Hunk[]
}

export type PatchSection = AddFile | DeleteFile | UpdateFile

export interface Hunk {
  /** Line of the patch where the hunk begins, from 1. */
  readonly line: number
  readonly anchors: readonly string[]
  readonly lines: readonly HunkLine[]
  readonly endOfFile: boolean
}

export interface HunkLine {
  readonly mark: ' ' | '-' | '+'
  readonly text: string
}

/** Why a patch cannot be read, or a hunk not applied. */
export interface PatchProblem {
  /** Line of the patch, from 1. */
  readonly line: number
  readonly problem: string
}

export function isProblem<T extends object>(value: T | PatchProblem): value is PatchProblem {
  return 'problem' in value
}
