package sqlite

import (
	"errors"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
	"modernc.org/libc"
	sqlite3 "modernc.org/sqlite/lib"
)

// vfsName is the VFS that connections are opened with. It is SQLite's own VFS for Unix, except that
// it writes the journal (the -wal file) in another way.
//
//	SQLite                          its own VFS             this one
//	24 + 4096 bytes for each page   as many calls           one pwrite, with the commit's last page
//	a file that grows with commits  a longer file each time zeros are written ahead of it
//	sync                            fsync                   fdatasync, except the first of a new file
//	the last connection closes      the file is removed     it stays, full of zeros, for the next one
//
// Growing a file makes its inode part of what a sync waits for, and fsync waits for the
// times of the file as well. The journal's format is unchanged: zeros are not a frame, so
// every reader, of any SQLite version, stops before them.
//
// SQLite's list of VFSs is global, so this one is registered once.
var vfsName = sync.OnceValues(registerVFS)

// The journal grows by walChunk at a time, and by walStep while it is shorter than walChunk: most
// journals stay short, and their first commit waits for the zeros written in advance.
const (
	walStep  = 64 << 10
	walChunk = 256 << 10
)

// walSpare is the largest journal that is kept when it has no content.
const walSpare = 1 << 20

// walBuffer is the maximum number of bytes that are collected. SQLite writes less than 128 KiB in
// one call. A larger commit is written in parts.
const walBuffer = 120 << 10

// A write of this length is a frame header. It contains the size of the database after the commit,
// or 0 if the frame does not end a commit.
const frameHead = 24

// The length of a journal's header; an empty journal has none.
const walHead = 32

// walFile follows SQLite's own structure of an open journal in memory.
type walFile struct {
	buf    uintptr // allocated by libc; 0 until it is needed
	off    int64   // offset of buf in the file
	n      int     // bytes in buf
	size   int64   // last known size of the file
	read   int64   // offset of the last read
	commit bool    // the frame being written ends a commit
	synced bool    // SQLite has synced the file, and the folder if the file was new
}

// vfs is set once, by registerVFS and the first journal.
var vfs struct {
	base uintptr // SQLite's VFS
	room uintptr // size of its file structure, after which walFile starts

	once    sync.Once
	was     sqlite3.Tsqlite3_io_methods // methods of a file of SQLite's VFS
	methods sqlite3.Tsqlite3_io_methods // methods of a journal
}

// at returns the value at an address in the memory of libc.
func at[T any](p uintptr) *T { return *(**T)(unsafe.Pointer(&p)) }

// pointer returns the address of a function for SQLite to call. It must be a package-level
// function, which is never collected.
func pointer[F any](f F) uintptr { return *(*uintptr)(unsafe.Pointer(&f)) }

func registerVFS() (string, error) {
	tls := libc.NewTLS()
	defer tls.Close()
	base := sqlite3.Xsqlite3_vfs_find(tls, 0)
	p := libc.Xcalloc(tls, 1, libc.Tsize_t(unsafe.Sizeof(sqlite3.Tsqlite3_vfs{})))
	name, err := libc.CString("holdfast")
	if base == 0 || p == 0 || err != nil {
		return "", errors.Join(errors.New("SQLite has no VFS"), err)
	}
	v := at[sqlite3.Tsqlite3_vfs](p)
	*v = *at[sqlite3.Tsqlite3_vfs](base)
	vfs.base, vfs.room = base, (uintptr(v.FszOsFile)+7)&^7
	v.FpNext, v.FzName, v.FxOpen = 0, name, pointer(vfsOpen)
	v.FszOsFile = int32(vfs.room + unsafe.Sizeof(walFile{}))
	if rc := sqlite3.Xsqlite3_vfs_register(tls, p, 0); rc != sqlite3.SQLITE_OK {
		return "", errors.New("SQLite cannot register the VFS")
	}
	return "holdfast", nil
}

// vfsOpen opens a file with SQLite's VFS and gives a journal its own methods.
func vfsOpen(tls *libc.TLS, _, name, file uintptr, flags int32, out uintptr) int32 {
	open := at[sqlite3.Tsqlite3_vfs](vfs.base).FxOpen
	rc := call[func(*libc.TLS, uintptr, uintptr, uintptr, int32, uintptr) int32](open)(tls, vfs.base, name, file, flags, out)
	if rc != sqlite3.SQLITE_OK || flags&sqlite3.SQLITE_OPEN_WAL == 0 {
		return rc
	}
	f := at[sqlite3.TunixFile](file)
	was := at[sqlite3.Tsqlite3_io_methods](f.FpMethod)
	vfs.once.Do(func() {
		vfs.was, vfs.methods = *was, *was
		m := &vfs.methods
		m.FxClose, m.FxRead, m.FxWrite, m.FxTruncate = pointer(walClose), pointer(walRead), pointer(walWrite), pointer(walTruncate)
		m.FxSync, m.FxFileSize = pointer(walSync), pointer(walFileSize)
	})
	if *was == vfs.was { // otherwise SQLite uses the locks for another kind of file system
		*journalOf(file) = walFile{synced: isSpare(int(f.Fh))}
		f.FpMethod = uintptr(unsafe.Pointer(&vfs.methods))
	}
	return rc
}

// call returns the function at an address.
func call[F any](p uintptr) F { return *(*F)(unsafe.Pointer(&p)) }

func journalOf(file uintptr) *walFile { return at[walFile](file + vfs.room) }

func walWrite(tls *libc.TLS, file, from uintptr, n int32, off int64) int32 {
	w := journalOf(file)
	if w.buf == 0 {
		if w.buf = libc.Xmalloc(tls, walBuffer); w.buf == 0 {
			return sqlite3.SQLITE_IOERR_NOMEM
		}
	}
	size := int(n)
	if off == 0 { // the journal restarts, perhaps after another program truncated it
		w.size = 0
	}
	if w.n > 0 && (w.off+int64(w.n) != off || w.n+size > walBuffer) {
		if rc := w.flush(tls, file); rc != sqlite3.SQLITE_OK {
			return rc
		}
	}
	if size > walBuffer || size == frameHead && off == w.read { // the write is only the header of an existing frame
		return w.write(tls, file, from, n, off)
	}
	if w.n == 0 {
		w.off = off
	}
	copy(w.bytes(w.n, size), bytesAt(from, size))
	w.n += size
	if size == frameHead {
		head := bytesAt(from, size)
		w.commit = head[4]|head[5]|head[6]|head[7] != 0
		return sqlite3.SQLITE_OK
	}
	if !w.commit && off != 0 { // more of the transaction follows
		return sqlite3.SQLITE_OK
	}
	w.commit = false
	return w.flush(tls, file)
}

func bytesAt(p uintptr, n int) []byte { return unsafe.Slice(at[byte](p), n) }

func (w *walFile) bytes(from, n int) []byte { return bytesAt(w.buf+uintptr(from), n) }

// flush writes the collected frames. If the write fails, the frames are discarded: SQLite rolls
// back the transaction and writes other frames there.
func (w *walFile) flush(tls *libc.TLS, file uintptr) int32 {
	if w.n == 0 {
		return sqlite3.SQLITE_OK
	}
	n := w.n
	w.n = 0
	return w.write(tls, file, w.buf, int32(n), w.off)
}

func (w *walFile) write(tls *libc.TLS, file, from uintptr, n int32, off int64) int32 {
	rc := call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](vfs.was.FxWrite)(tls, file, from, n, off)
	if end := off + int64(n); rc == sqlite3.SQLITE_OK && end > w.size {
		w.grow(int(at[sqlite3.TunixFile](file).Fh), end)
	}
	return rc
}

var zeros [walChunk]byte

// grow writes zeros after the end of the file, up to a whole step. The writer of the journal has
// exclusive access. If the disk has no space left, the file is not changed.
func (w *walFile) grow(fd int, end int64) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return
	}
	w.size = st.Size
	if st.Size != end {
		return
	}
	step := int64(walChunk)
	if end < walChunk {
		step = walStep
	}
	n, err := unix.Pwrite(fd, zeros[:step-end%step], end)
	if err != nil || int64(n) != step-end%step {
		_ = unix.Ftruncate(fd, end)
		return
	}
	w.size = end + int64(n)
}

// empty overwrites a journal not longer than walSpare with zeros. The header is overwritten and
// synced first: otherwise frames that remain could restore an old state of the file.
func empty(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Size < walHead || st.Size > walSpare {
		return false
	}
	if n, err := unix.Pwrite(fd, zeros[:walHead], 0); err != nil || n != walHead || fdatasync(fd) != nil {
		return false
	}
	for at := int64(0); at < st.Size; at += walChunk {
		part := zeros[:min(walChunk, st.Size-at)]
		if n, err := unix.Pwrite(fd, part, at); err != nil || n != len(part) {
			return false
		}
	}
	return true
}

// isSpare reports whether a journal was emptied by this VFS. The journal's name is durable then: it
// was synced before, or it survived a restart of the machine.
func isSpare(fd int) bool {
	var head [walHead]byte
	n, err := unix.Pread(fd, head[:], 0)
	return err == nil && n == len(head) && head == [walHead]byte{}
}

func walSync(tls *libc.TLS, file uintptr, flags int32) int32 {
	w := journalOf(file)
	if rc := w.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	if !w.synced {
		rc := call[func(*libc.TLS, uintptr, int32) int32](vfs.was.FxSync)(tls, file, flags)
		w.synced = rc == sqlite3.SQLITE_OK
		return rc
	}
	if fdatasync(int(at[sqlite3.TunixFile](file).Fh)) != nil {
		return sqlite3.SQLITE_IOERR_FSYNC
	}
	return sqlite3.SQLITE_OK
}

func fdatasync(fd int) error {
	for {
		if err := unix.Fdatasync(fd); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

func walRead(tls *libc.TLS, file, into uintptr, n int32, off int64) int32 {
	w := journalOf(file)
	if rc := w.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	w.read = off
	return call[func(*libc.TLS, uintptr, uintptr, int32, int64) int32](vfs.was.FxRead)(tls, file, into, n, off)
}

// walTruncate replaces the content of a short journal by zeros instead of truncating it.
func walTruncate(tls *libc.TLS, file uintptr, size int64) int32 {
	w := journalOf(file)
	if rc := w.flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	w.size = 0
	if fd := int(at[sqlite3.TunixFile](file).Fh); size == 0 && w.synced && empty(fd) {
		return sqlite3.SQLITE_OK
	}
	return call[func(*libc.TLS, uintptr, int64) int32](vfs.was.FxTruncate)(tls, file, size)
}

func walFileSize(tls *libc.TLS, file, size uintptr) int32 {
	if rc := journalOf(file).flush(tls, file); rc != sqlite3.SQLITE_OK {
		return rc
	}
	return call[func(*libc.TLS, uintptr, uintptr) int32](vfs.was.FxFileSize)(tls, file, size)
}

func walClose(tls *libc.TLS, file uintptr) int32 {
	w := journalOf(file)
	rc := w.flush(tls, file)
	libc.Xfree(tls, w.buf)
	w.buf = 0
	if closed := call[func(*libc.TLS, uintptr) int32](vfs.was.FxClose)(tls, file); rc == sqlite3.SQLITE_OK {
		rc = closed
	}
	return rc
}
