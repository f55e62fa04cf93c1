import type { BlobStore } from '@cofferdam/core/plugin'
import { casesFrom } from '../../open-store.js'
import type { StoreCase } from '../../open-store.js'
import { failingBlobRows } from './failing-blob-cases.js'
import { keyBlobRows } from './key-blob-cases.js'
import { wholeBlobRows } from './whole-blob-cases.js'

/** The contract of {@link BlobStore}, clause by clause. */
export const blobStoreCases: ReadonlyArray<StoreCase<BlobStore>> = casesFrom('blob-store', [
  ...wholeBlobRows,
  ...keyBlobRows,
  ...failingBlobRows,
])
