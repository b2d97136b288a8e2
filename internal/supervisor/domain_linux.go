package supervisor

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// domain prevents processes from changing the supervisor's folder and from accessing each other.
// Each process gets a separate Landlock domain: the kernel does not allow a process to trace a
// process of another domain, to read its memory and environment or, from version 6 on, to signal
// it.
type domain struct {
	folder  string // not writable
	abi     int
	files   bool
	signals bool
	why     string // the reason if one of the two does not work
}

const (
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// probeDomain finds out what this kernel supports, by creating a ruleset.
func probeDomain(folder string) domain {
	d := domain{folder: folder}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch d.abi = int(version); {
	case errno != 0:
		d.abi, d.why = 0, "this kernel has no Landlock: "+errno.Error()
		return d
	case d.abi < 2: // this version of Landlock denies every rename from one folder to another
		d.why = "this kernel's Landlock is too old: version 1, at least 2 is required"
		return d
	case d.abi < 6:
		d.why = fmt.Sprintf("this kernel's Landlock does not restrict signals: version %d, at least 6 is required", d.abi)
	}
	f, err := d.ruleset()
	if err != nil {
		d.why = err.Error()
		return d
	}
	_ = f.Close()
	d.files, d.signals = true, d.abi >= 6
	return d
}

// ruleset creates the ruleset of one process: everything is writable except the folder. Landlock
// can only grant rights, so the ruleset grants them for every path next to the folder and next to
// its parents.
func (d *domain) ruleset() (*os.File, error) {
	attr := unix.LandlockRulesetAttr{Handled_access_fs: writeRights}
	if d.abi >= 3 {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if d.abi >= 6 {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return nil, fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	f := os.NewFile(fd, "landlock")
	if err := d.grant(int(fd), attr.Handled_access_fs); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

func (d *domain) grant(ruleset int, rights uint64) error {
	folder, err := filepath.EvalSymlinks(d.folder)
	if err != nil {
		return err
	}
	dir := "/"
	for name := range strings.SplitSeq(strings.Trim(folder, "/"), "/") {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, e := range entries {
			if e.Name() == name || e.Type()&os.ModeSymlink != 0 {
				continue
			}
			if err := allow(ruleset, filepath.Join(dir, e.Name()), e.IsDir(), rights); err != nil {
				return err
			}
		}
		dir = filepath.Join(dir, name)
	}
	return nil
}

// allow grants rights on a tree or a file.
func allow(ruleset int, path string, isDir bool, rights uint64) error {
	if !isDir {
		rights &= fileRights
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil // the path was removed meanwhile, or is not accessible anyway
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 && errno != unix.EBADFD { // EBADFD: on a file system without paths
		return &os.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}
