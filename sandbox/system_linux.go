package sandbox

import (
	"os"
	"path"
	"slices"
	"syscall"
	"time"
)

// folderState tells whether the content of a folder has changed. A command can set a folder's
// modification time (mtime) but not its change time (ctime).
type folderState struct {
	dev, ino, mode uint64
	changed        int64 // nanoseconds
	looked         int64
}

func stateOf(dir string) folderState {
	var st syscall.Stat_t
	if syscall.Lstat(dir, &st) != nil {
		return folderState{}
	}
	return folderState{st.Dev, st.Ino, uint64(st.Mode), syscall.TimespecToNsec(st.Ctim), time.Now().UnixNano()}
}

// same reports whether the folder has certainly not changed since it was in the state before. If
// that state was read too soon after a change, a later change could have the same time, so the
// result is false.
func (s *folderState) same(before *folderState) bool {
	const tick = int64(100 * time.Millisecond)
	return s.ino != 0 && s.dev == before.dev && s.ino == before.ino && s.mode == before.mode && s.changed == before.changed &&
		before.looked-before.changed > tick
}

// searchable reports whether a command can reach the content of a folder: it runs as this process's
// user without any capabilities. Content that a command cannot reach can be neither mounted on nor
// used.
func searchable(dir string) bool {
	groups, err := os.Getgroups()
	for ; err == nil; dir = path.Dir(dir) {
		var st syscall.Stat_t
		if err = syscall.Stat(dir, &st); err != nil {
			return false
		}
		bit := uint32(0o001)
		switch {
		case int(st.Uid) == os.Geteuid():
			bit = 0o100
		case int(st.Gid) == os.Getegid() || slices.Contains(groups, int(st.Gid)):
			bit = 0o010
		}
		if st.Mode&bit == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
	}
	return true
}
