package crashtest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// LogDisk is a folder that this process serves. It contains disks whose writes and flushes are
// logged, and a file for notes. The disks are mounted through loop devices.
//
//	ext4 ─► loop device ─► a file in the folder ─► FUSE ─► Image
//	                                                └────► WriteLog ◄── notes
//
// Only processes with their own mount namespace may mount them. A mount in this process's namespace
// would be removed when this process ends, and the removal would wait forever for an answer from
// this process. A page fault on a file of such a mount could wait for a garbage collection that
// itself waits for the page fault.
type LogDisk struct {
	Dir    string // the folder
	root   *fs.Inode
	server *fuse.Server
}

// NewLogDisk creates the folder dir and serves it there. It needs root. The caller calls
// [LogDisk.Close].
func NewLogDisk(dir string) (*LogDisk, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	root := &fs.Inode{}
	server, err := fs.Mount(dir, root, &fs.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "holdfast-disks", Name: "disks", MaxWrite: 1 << 20},
	})
	if err != nil {
		return nil, err
	}
	return &LogDisk{Dir: dir, root: root, server: server}, nil
}

// Add adds an image to the folder as a file and returns the file's path. Writes and flushes
// are added to log, which may be nil.
func (d *LogDisk) Add(name string, m *Image, log *WriteLog) string {
	return d.add(name, &diskNode{image: m, log: log})
}

// AddNotes adds a file to the folder. Data that is written to it is added to log as notes before
// the write returns.
func (d *LogDisk) AddNotes(name string, log *WriteLog) string {
	return d.add(name, &notesNode{log: log})
}

func (d *LogDisk) add(name string, n fs.InodeEmbedder) string {
	node := d.root.NewPersistentInode(context.Background(), n, fs.StableAttr{Mode: syscall.S_IFREG})
	d.root.AddChild(name, node, true)
	return filepath.Join(d.Dir, name)
}

// Remove removes a file from the folder.
func (d *LogDisk) Remove(name string) { d.root.RmChild(name) }

// Close unmounts the folder.
func (d *LogDisk) Close() error { return d.server.Unmount() }

// diskNode is a disk as a file of the folder.
type diskNode struct {
	fs.Inode

	image *Image
	log   *WriteLog
}

var (
	_ fs.NodeOpener    = (*diskNode)(nil)
	_ fs.NodeGetattrer = (*diskNode)(nil)
	_ fs.NodeReader    = (*diskNode)(nil)
	_ fs.NodeWriter    = (*diskNode)(nil)
	_ fs.NodeFsyncer   = (*diskNode)(nil)
)

func (n *diskNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (n *diskNode) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = syscall.S_IFREG|0o600, uint64(n.image.Size()) //nolint:gosec // never negative
	return 0
}

func (n *diskNode) Read(_ context.Context, _ fs.FileHandle, b []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	got, _ := n.image.ReadAt(b, off)
	return fuse.ReadResultData(b[:got]), 0
}

func (n *diskNode) Write(_ context.Context, _ fs.FileHandle, b []byte, off int64) (uint32, syscall.Errno) {
	if n.log != nil {
		n.log.Write(b, off)
	}
	done, _ := n.image.WriteAt(b, off)
	return uint32(done), 0 //nolint:gosec // at most 1 MiB
}

func (n *diskNode) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	if n.log != nil {
		n.log.Flush()
	}
	return 0
}

// notesNode is a file that receives notes.
type notesNode struct {
	fs.Inode

	log *WriteLog
}

var (
	_ fs.NodeOpener = (*notesNode)(nil)
	_ fs.NodeWriter = (*notesNode)(nil)
)

func (n *notesNode) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) {
	return nil, fuse.FOPEN_DIRECT_IO, 0
}

func (n *notesNode) Write(_ context.Context, _ fs.FileHandle, b []byte, _ int64) (uint32, syscall.Errno) {
	n.log.Note(string(b))
	return uint32(len(b)), 0 //nolint:gosec // at most 1 MiB
}
