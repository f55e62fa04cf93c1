/** What an agent is told of the filesystem tools. */
export function filesystemInstructions(readOnly: boolean): string {
  const reading = `Files: paths are relative to the workspace. Look around with list_files, glob and grep; read with read_file.`
  if (readOnly) return `${reading} Files can be read only.`
  return `${reading} Change files with apply_patch (several places or files at once) or edit_file (one place); write_file is for
new files and whole replacements. Read a file before you change it. A change that fails has changed nothing: read the file
again and correct the change. [redacted] stands for a secret: never write it into a file.`
}
