package file

import (
	"io/fs"
	"os"
)

// tighten removes the rights of other users on files in a directory. On file systems without modes
// this fails, and the rights stay unchanged.
func tighten(dir *os.Root, names ...string) {
	for _, name := range names {
		if fi, err := dir.Lstat(name); err == nil && fi.Mode().IsRegular() && fi.Mode().Perm()&0o077 != 0 {
			_ = dir.Chmod(name, fi.Mode().Perm()&^0o077)
		}
	}
}

// tightenAll is tighten for all files of a session.
func tightenAll(dir *os.Root) {
	entries, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return
	}
	for _, e := range entries {
		tighten(dir, e.Name())
	}
}
