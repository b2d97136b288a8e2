package sandbox

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// streams are the standard streams of a command.
//
//	Stdin  (a reader) ─ copy ─► pipe ─► 0
//	Stdout (a writer) ◄─ budget ◄─ copy ◄─ pipe ◄─ 1
//	Stderr (a writer) ◄─ budget ◄─ tail ◄─ copy ◄─ pipe ◄─ 2
//
// A terminal, a pipe or a device is passed to the command unchanged, unless its data must be counted or
// read. A file on disk is never passed: a process that has it open can change its mode, times and
// attributes, wherever it is.
type streams struct {
	made      map[*os.File]bool // pipes whose other end the caller has
	child     []io.Closer       // closed after the command has started or failed to start
	parent    []io.Closer       // closed after the command has ended
	copies    []func() error
	ended     chan error   // the result of each copy
	seekStart func() error // rewinds the command's input; nil if there is no input to rewind

	budget *budget // nil means no limit
	tail   *tail   // the end of standard error; nil if it is not read
}

// pipe creates a pipe for the caller. If toCommand is true, the command reads from the pipe. The
// result commandEnd is the command's end.
func (s *streams) pipe(toCommand bool) (commandEnd, callerEnd *os.File, err error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	commandEnd, callerEnd = w, r
	if toCommand {
		commandEnd, callerEnd = r, w
	}
	if s.made == nil {
		s.made = map[*os.File]bool{}
	}
	s.made[commandEnd] = true
	s.parent = append(s.parent, callerEnd)
	return commandEnd, callerEnd, nil
}

// connect returns the command's descriptors, from 0 on.
func (s *streams) connect(c *Cmd, limit int64) ([]*os.File, error) {
	if limit > 0 {
		s.budget = &budget{limit: limit}
	}
	if c.Stderr != nil && (!isOSFile(c.Stderr) || c.ReadStderr || s.budget != nil) {
		s.tail = &tail{}
	}
	in, err := s.input(c.Stdin)
	if err != nil {
		return nil, err
	}
	var out, errs *os.File
	if c.Stderr != nil && (sameWriter(c.Stdout, c.Stderr) || sameFile(c.Stdout, c.Stderr)) {
		out, err = s.output(c.Stdout, s.tail)
		errs = out
	} else {
		if out, err = s.output(c.Stdout, nil); err == nil {
			errs, err = s.output(c.Stderr, s.tail)
		}
	}
	if err != nil {
		return nil, err
	}
	return append([]*os.File{in, out, errs}, c.ExtraFiles...), nil
}

func (s *streams) input(r io.Reader) (*os.File, error) {
	if r == nil {
		return s.null(os.O_RDONLY)
	}
	if f, ok := r.(*os.File); ok {
		switch kind, err := kindOf(f); {
		case err != nil:
			return nil, err
		case !kind.IsRegular():
			return s.direct(f), nil
		}
	}
	childEnd, parentEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.child, s.parent = append(s.child, childEnd), append(s.parent, parentEnd)
	s.seekStart = seekBack(r)
	s.copies = append(s.copies, func() error {
		_, err := io.Copy(parentEnd, r)
		if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
			err = nil // this error only means that the command did not read all of its input
		}
		return errors.Join(err, closeOnce(parentEnd))
	})
	return childEnd, nil
}

// seekBack remembers the position of a reader and returns a function that seeks back to it.
func seekBack(r io.Reader) func() error {
	once := func() error { return errors.New("its input cannot be read again") }
	k, ok := r.(io.Seeker)
	if !ok {
		return once
	}
	at, err := k.Seek(0, io.SeekCurrent)
	if err != nil {
		return once
	}
	return func() error {
		_, err := k.Seek(at, io.SeekStart)
		return err
	}
}

// rewind prepares a second start of a command that has read and written nothing.
func (s *streams) rewind() error {
	if len(s.made) > 0 {
		return errors.New("the caller has the other end of its pipes")
	}
	if s.seekStart == nil {
		return nil
	}
	return s.seekStart()
}

func (s *streams) output(w io.Writer, t *tail) (*os.File, error) {
	if w == nil {
		return s.null(os.O_WRONLY)
	}
	f, file := w.(*os.File)
	if file {
		switch kind, err := kindOf(f); {
		case err != nil:
			return nil, err
		case !kind.IsRegular() && t == nil && s.budget == nil:
			return s.direct(f), nil
		}
	}
	parentEnd, childEnd, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.child, s.parent = append(s.child, childEnd), append(s.parent, parentEnd)
	piped := file && s.made[f]
	if piped {
		s.parent = append(s.parent, f)
	}
	s.copies = append(s.copies, func() error {
		err := s.carry(w, parentEnd, t)
		if piped {
			err = errors.Join(err, closeOnce(f))
		}
		return errors.Join(err, closeOnce(parentEnd))
	})
	return childEnd, nil
}

// kindOf returns the type of a file. A folder is rejected, because the whole disk would be reachable
// through it.
func kindOf(f *os.File) (fs.FileMode, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	if info.IsDir() {
		return 0, fmt.Errorf("%s is a folder and cannot be a standard stream of a sandboxed command", f.Name())
	}
	return info.Mode(), nil
}

// direct passes a file unchanged.
func (s *streams) direct(f *os.File) *os.File {
	if s.made[f] {
		s.child = append(s.child, f)
	}
	return f
}

// carry copies one output stream.
func (s *streams) carry(w io.Writer, r io.Reader, t *tail) error {
	var b *budgeted
	if s.budget != nil {
		b = &budgeted{w: w, budget: s.budget}
		w = b
	}
	if t != nil {
		w = &tailWriter{w, t}
	}
	_, err := io.Copy(w, r)
	if errors.Is(err, os.ErrClosed) {
		err = nil // the copy was abandoned
	}
	if b != nil && err == nil {
		err = b.finish()
	}
	return err
}

func (s *streams) null(mode int) (*os.File, error) {
	f, err := os.OpenFile(os.DevNull, mode, 0)
	if err == nil {
		s.child = append(s.child, f)
	}
	return f, err
}

// started closes the ends that only the command needs, and starts the copies.
func (s *streams) started() {
	closeAll(s.child)
	s.child = nil
	s.ended = make(chan error, len(s.copies))
	for _, run := range s.copies {
		go func() { s.ended <- run() }()
	}
}

// wait waits for the copies. If delay is not 0, it stops waiting after that time. If a read does
// not return, its goroutine continues until it returns.
func (s *streams) wait(delay time.Duration) error {
	defer func() { closeAll(s.parent) }()
	var timeout <-chan time.Time
	if delay > 0 && len(s.copies) > 0 {
		t := time.NewTimer(delay)
		defer t.Stop()
		timeout = t.C
	}
	var first error
	for range s.copies {
		select {
		case err := <-s.ended:
			if first == nil {
				first = err
			}
		case <-timeout:
			if first == nil {
				first = exec.ErrWaitDelay
			}
			return first
		}
	}
	return first
}

// abandon closes all files of a command that did not start.
func (s *streams) abandon() {
	closeAll(s.child)
	closeAll(s.parent)
	for f := range s.made {
		_ = f.Close()
	}
}

func closeAll(list []io.Closer) {
	for _, c := range list {
		_ = c.Close()
	}
}

// closeOnce closes a file that may already be closed.
func closeOnce(f *os.File) error {
	if err := f.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return err
	}
	return nil
}

func isOSFile(w io.Writer) bool {
	_, ok := w.(*os.File)
	return ok
}

// sameFile reports whether two writers are the same file, pipe or terminal: output written to both
// then stays in order.
func sameFile(a, b io.Writer) bool {
	f, ok := a.(*os.File)
	g, also := b.(*os.File)
	if !ok || !also {
		return false
	}
	x, err := f.Stat()
	y, err2 := g.Stat()
	return err == nil && err2 == nil && os.SameFile(x, y)
}

// sameWriter compares two writers, whose types may not be comparable.
func sameWriter(a, b io.Writer) (same bool) {
	defer func() {
		if recover() != nil {
			same = false
		}
	}()
	return a == b
}
