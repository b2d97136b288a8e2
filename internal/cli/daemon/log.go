package daemon

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// logLimit is the size of a log at which it begins again, in bytes.
const logLimit = 1 << 20

// logFile is a log of limited size. At the limit, its content is copied to a second file and the
// file is emptied: processes that have the file open, such as the daemon with its standard error,
// continue to write to the same file.
type logFile struct {
	limit int64

	mu   sync.Mutex
	file *os.File
}

// openLog opens a log for appending. Only its owner can read it.
func openLog(name string) (*logFile, error) {
	if st, err := os.Lstat(name); err == nil && !st.Mode().IsRegular() {
		return nil, outcome.Invalid(name+" is not a regular file", "use another name for --log-file")
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	return &logFile{limit: logLimit, file: f}, f.Chmod(0o600)
}

// Write appends a line.
func (l *logFile) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if st, err := l.file.Stat(); err == nil && st.Size() > 0 && st.Size()+int64(len(line)) > l.limit {
		if err := l.rotate(); err != nil {
			return 0, err
		}
	}
	return l.file.Write(line)
}

// rotate copies the end of the log to a second file, and empties the log.
func (l *logFile) rotate() (err error) {
	st, err := l.file.Stat()
	if err != nil {
		return err
	}
	old := l.file.Name() + ".1"
	if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	to, err := os.OpenFile(old, os.O_CREATE|os.O_WRONLY|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	from := max(0, st.Size()-l.limit) // another process may have written much
	_, err = io.Copy(to, io.NewSectionReader(l.file, from, st.Size()-from))
	if err := errors.Join(err, to.Close()); err != nil {
		return err
	}
	return l.file.Truncate(0)
}

// Close closes the file.
func (l *logFile) Close() error { return l.file.Close() }
