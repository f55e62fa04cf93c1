import type { SandboxErrorCode } from '@cofferdam/core'
import type { ReadArchiveOptions } from '@cofferdam/core/archive'

/** One archive and what must come of extracting it. */
export interface ArchiveCase {
  /** Stable; dots separate topic and case. */
  readonly id: string
  /** Which attack, defect or habit of real writers it stands for. */
  readonly why: string
  readonly build: () => Uint8Array
  /** `ok`, or the code with which extracting fails, leaving nothing behind. */
  readonly expect: 'ok' | SandboxErrorCode
  /** Of accepted archives: `file a/b`, `directory d`, `symlink l -> target`, `hardlink h -> a/b`, in order. */
  readonly members?: readonly string[]
  /** Of refused archives: words of Cofferdam's own reason, to tell apart being refused and being refused for this. */
  readonly reason?: string
  /** Default: none. */
  readonly options?: ReadArchiveOptions
}
