import type { StartBranch } from '../contracts/observer.js'

export interface StartFacts {
  /** The record says that a workspace of this incarnation was ready. */
  readonly recordReady: boolean
  /** The marker in the control folder names this session and incarnation. */
  readonly marker: boolean
}

/** Which way leads to a ready workspace. A `lost` or `seeded` one without any snapshot is filled as a cold one. */
export function decideBranch(facts: StartFacts, hasSnapshot: boolean): StartBranch {
  if (facts.recordReady) return facts.marker ? 'warm' : 'lost'
  return hasSnapshot ? 'seeded' : 'cold'
}
