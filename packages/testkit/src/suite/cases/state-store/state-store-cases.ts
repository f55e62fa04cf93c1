import type { StateStore } from '@cofferdam/core/plugin'
import { casesFrom } from '../../open-store.js'
import type { StoreCase } from '../../open-store.js'
import { concurrentStateRows } from './concurrent-state-cases.js'
import { listStateRows } from './list-state-cases.js'
import { modelStateRows } from './model-state-cases.js'
import { singleStateRows } from './single-state-cases.js'

/** The contract of {@link StateStore}, clause by clause. */
export const stateStoreCases: ReadonlyArray<StoreCase<StateStore>> = casesFrom('state-store', [
  ...singleStateRows,
  ...listStateRows,
  ...concurrentStateRows,
  ...modelStateRows,
])
