package crashtest

import (
	"context"
	"os"
	"path/filepath"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// LogDisk is a folder that this process serves: in it lie disks whose writes and
// flushes are logged, to be mounted through loop devices, and a file for notes.
//
//	ext4 ─► loop device ─► a file in the folder ─► FUSE ─► Image
//	                                                └────► WriteLog ◄── notes
//
// Only processes with a mount namespace of their own may mount them. In this process's
// namespace the mount would be taken down by this process's own death, which waits for
// what only this process can answer, for ever; and a page fault in it could wait for a
// garbage collection that waits for the page fault.
type LogDisk struct {
	Dir    string // the folder
	root   *fs.Inode
	server *fuse.Server
}

// NewLogDisk mounts the folder at dir, which it makes. It needs to be root. The caller
// calls [LogDisk.Close].
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

// Add puts an image into the folder, as a file of a name, and returns the file's path.
// Writes and flushes go to log, which may be nil.
func (d *LogDisk) Add(name string, m *Image, log *WriteLog) string {
	return d.add(name, &diskNode{image: m, log: log})
}

// AddNotes puts a file into the folder. What is written to it becomes notes in log
// before the write returns.
func (d *LogDisk) AddNotes(name string, log *WriteLog) string {
	return d.add(name, &notesNode{log: log})
}

func (d *LogDisk) add(name string, n fs.InodeEmbedder) string {
	node := d.root.NewPersistentInode(context.Background(), n, fs.StableAttr{Mode: syscall.S_IFREG})
	d.root.AddChild(name, node, true)
	return filepath.Join(d.Dir, name)
}

// Remove takes a file out of the folder.
func (d *LogDisk) Remove(name string) { d.root.RmChild(name) }

// Close unmounts the folder.
func (d *LogDisk) Close() error { return d.server.Unmount() }

// diskNode is a disk as a file.
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

// notesNode is a file that takes notes.
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
