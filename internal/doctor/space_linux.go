package doctor

import "golang.org/x/sys/unix"

// freeSpace returns how many more bytes an ordinary user can write below dir.
func freeSpace(dir string) (int64, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}
