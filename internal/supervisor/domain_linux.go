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

// domain is how processes are kept from the supervisor's folder, and from each other.
// Each gets a Landlock domain of its own: the kernel lets nobody trace a process of
// another domain, nor read its memory and environment, and from version 6 on nor signal it.
type domain struct {
	folder  string // closed to writing
	abi     int
	files   bool
	signals bool
	why     string // one of them is not there
}

const (
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG |
		unix.LANDLOCK_ACCESS_FS_MAKE_SOCK | unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER
	fileRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE
)

// probeDomain says what this kernel can do, by making a ruleset.
func probeDomain(folder string) domain {
	d := domain{folder: folder}
	version, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	switch d.abi = int(version); {
	case errno != 0:
		d.abi, d.why = 0, "this kernel has no Landlock: "+errno.Error()
		return d
	case d.abi < 2: // it would refuse every rename from one folder to another
		d.why = "this kernel's Landlock is too old: version 1, 2 is needed"
		return d
	case d.abi < 6:
		d.why = fmt.Sprintf("this kernel's Landlock does not hold signals: version %d, 6 is needed", d.abi)
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

// ruleset makes the ruleset of one process: everything may be written but what lies in
// the folder. Landlock only grants, so what lies beside the way to it is granted.
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

// allow grants rights on a tree, or on a file.
func allow(ruleset int, path string, isDir bool, rights uint64) error {
	if !isDir {
		rights &= fileRights
	}
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.EACCES) {
		return nil // it went meanwhile, or is closed to us anyway
	}
	if err != nil {
		return &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(fd)
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&rule)), 0, 0, 0)
	if errno != 0 && errno != unix.EBADFD { // of a file system that has no paths
		return &os.PathError{Op: "allow", Path: path, Err: errno}
	}
	return nil
}
