import { createMemoryClient, createMemoryWorld, defineTarget } from '../../index.js'
import { describeConformance } from '../../vitest.js'

const world = createMemoryWorld()

describeConformance(
  defineTarget({
    kind: 'backend',
    name: 'memory',
    create: () => createMemoryClient(world),
    census: () => [...world.census(), ...world.defects.map((defect) => `defect of the interpreter: ${String(defect)}`)],
  }),
)
