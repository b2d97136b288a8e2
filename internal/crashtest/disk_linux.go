package crashtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Disk is a small ext4 file system on a loop device. Its power can be cut. The process needs its
// own mount namespace. Use it from one goroutine.
type Disk struct {
	Dir   string // where it is mounted
	image string
}

// NewDisk makes a file system of the given size in a file under dir and mounts it. The caller
// calls [Disk.Close].
func NewDisk(ctx context.Context, dir string, megabytes int64) (*Disk, error) {
	d := &Disk{Dir: filepath.Join(dir, "mnt"), image: filepath.Join(dir, "disk.img")}
	if err := os.MkdirAll(d.Dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.Create(d.image)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(f.Truncate(megabytes<<20), f.Close()); err != nil {
		return nil, err
	}
	if err := run(ctx, "mkfs.ext4", "-q", "-F", d.image); err != nil {
		return nil, err
	}
	return d, d.mount(ctx)
}

func (d *Disk) mount(ctx context.Context) error {
	return run(ctx, "mount", "-o", "loop", d.image, d.Dir)
}

// shutdown is EXT4_IOC_SHUTDOWN; noLogFlush drops what the journal has not written yet.
const (
	shutdown   = 0x8004587d
	noLogFlush = 2
)

// Cut cuts the power: everything that was not synced is lost. Every later call on the file system
// fails until [Disk.Restart].
func (d *Disk) Cut() error {
	f, err := os.Open(d.Dir)
	if err != nil {
		return err
	}
	flag := uint32(noLogFlush)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), shutdown, uintptr(unsafe.Pointer(&flag)))
	if errno != 0 {
		err = fmt.Errorf("shutdown of ext4: %w", errno)
	}
	return errors.Join(err, f.Close())
}

// Restart restores the power. The journal is then replayed. No process may have a file of the disk
// open.
func (d *Disk) Restart(ctx context.Context) error {
	if err := unix.Unmount(d.Dir, 0); err != nil {
		return fmt.Errorf("unmount: %w", err)
	}
	return d.mount(ctx)
}

// Close unmounts the disk and removes its file.
func (d *Disk) Close() error {
	return errors.Join(unix.Unmount(d.Dir, 0), os.Remove(d.image))
}
