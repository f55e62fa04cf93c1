/** What system calls of the memory sandbox fail with. */
export type Errno =
  'EACCES' | 'EEXIST' | 'EINVAL' | 'EISDIR' | 'ELOOP' | 'ENAMETOOLONG' | 'ENOENT' | 'ENOTDIR' | 'ENOTEMPTY' | 'EPERM'

const MESSAGES: Readonly<Record<Errno, string>> = {
  EACCES: 'Permission denied',
  EEXIST: 'File exists',
  EINVAL: 'Invalid argument',
  EISDIR: 'Is a directory',
  ELOOP: 'Too many levels of symbolic links',
  ENAMETOOLONG: 'File name too long',
  ENOENT: 'No such file or directory',
  ENOTDIR: 'Not a directory',
  ENOTEMPTY: 'Directory not empty',
  EPERM: 'Operation not permitted',
}

/** A failed system call, as commands see it. `SandboxFiles` turns it into a `SandboxError`. */
export class PosixError extends Error {
  override readonly name = 'PosixError'
  readonly errno: Errno

  constructor(errno: Errno) {
    super(MESSAGES[errno])
    this.errno = errno
  }
}
