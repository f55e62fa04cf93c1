import type { Benchmark } from '../benchmark.js'
import { archiveMemory, archives } from './archives.js'
import { commands } from './commands.js'
import { coreCost } from './core-cost.js'
import { lifeCycles } from './life-cycles.js'
import { materializing } from './materializing.js'

/** Everything about the local backend and about core itself. */
export const local: readonly Benchmark[] = [commands, lifeCycles, coreCost, materializing, archives, archiveMemory]
