// Package lineio reads and writes the newline-delimited messages of vendor agents.
//
//	process ──stdout──► Reader ──► driver ──► Writer (a goroutine) ──stdin──► process
//
//	in, out := lineio.NewReader(p.Stdout()), lineio.NewWriter(p.Stdin())
//	defer out.Close()
//	out.Send(message)
//	line, err := in.Next()
//
// The package does not interpret the lines.
package lineio

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
)

// Max is the maximum length of a line in bytes. The longest useful lines contain an image or a file.
const Max = 256 << 20

// Truncate shortens a text to about n bytes for display.
func Truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Reader reads lines of up to [Max] bytes. A Reader must be used by only one goroutine.
type Reader struct{ r *bufio.Reader }

// NewReader returns a reader of r.
func NewReader(r io.Reader) *Reader { return &Reader{bufio.NewReaderSize(r, 64<<10)} }

// Next returns the next non-empty line without surrounding white space. The caller may keep the bytes. After the
// last line it returns [io.EOF]; a last line without a newline is a line.
func (r *Reader) Next() ([]byte, error) {
	var line []byte
	for {
		b, err := r.r.ReadSlice('\n')
		if len(line)+len(b) > Max {
			return nil, fmt.Errorf("line is longer than %d MB", Max>>20)
		}
		line = append(line, b...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if trimmed := bytes.TrimSpace(line); len(trimmed) > 0 {
			return trimmed, nil
		}
		if err != nil {
			return nil, err
		}
		line = line[:0]
	}
}

// Writer writes lines on a separate goroutine, so that a program that does not read its input
// cannot block the goroutine that reads its output. Any goroutine may call its methods.
type Writer struct {
	to   io.WriteCloser
	done chan struct{}

	mu    sync.Mutex
	more  *sync.Cond
	queue [][]byte
	size  int // of the queue
	ended bool
}

// NewWriter returns a Writer that writes to stream. [Writer.Close] closes stream.
func NewWriter(stream io.WriteCloser) *Writer {
	w := &Writer{to: stream, done: make(chan struct{})}
	w.more = sync.NewCond(&w.mu)
	go w.run()
	return w
}

func (w *Writer) run() {
	defer close(w.done)
	for {
		line, ok := w.next()
		if !ok {
			return
		}
		if _, err := w.to.Write(line); err != nil {
			return // the process has ended, which its output shows
		}
	}
}

func (w *Writer) next() ([]byte, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.queue) == 0 && !w.ended {
		w.more.Wait()
	}
	if len(w.queue) == 0 {
		return nil, false
	}
	line := w.queue[0]
	w.queue, w.size = w.queue[1:], w.size-len(line)
	return line, true
}

// Send queues a line and adds the newline. It does nothing after [Writer.Close], or if the queue with this line
// exceeds [Max] bytes.
func (w *Writer) Send(line []byte) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended || w.size > Max {
		return
	}
	w.queue = append(w.queue, append(bytes.Clone(line), '\n'))
	w.size += len(line) + 1
	w.more.Signal()
}

// Close closes the program's input, drops unwritten lines and waits for the goroutine.
func (w *Writer) Close() {
	w.mu.Lock()
	w.ended, w.queue = true, nil
	w.more.Signal()
	w.mu.Unlock()
	_ = w.to.Close() // the program may have ended already
	<-w.done
}
