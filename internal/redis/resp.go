package redis

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
)

// Limits of a reply. Announced sizes are not trusted: memory is allocated only as bytes arrive.
const (
	maxLine  = 64 << 10  // bytes of a status, an error or a number
	maxBulk  = 512 << 20 // limit in bytes of one string; Redis has the same limit
	maxDepth = 16        // lists in lists
	maxReply = 1 << 30   // estimated bytes of a reply in memory
	perValue = 64        // estimated bytes of a value besides its content
)

// Command is the name of a command, followed by its arguments: strings, bytes, integers, and booleans (sent as
// 1 and 0).
type Command []any

// write writes a command as a list of strings.
func (c Command) write(w *bufio.Writer) error {
	writeLen(w, '*', len(c))
	for _, arg := range c {
		switch v := arg.(type) {
		case string:
			writeLen(w, '$', len(v))
			_, _ = w.WriteString(v) // the writer keeps its first error
		case []byte:
			writeLen(w, '$', len(v))
			_, _ = w.Write(v)
		case int:
			writeInt(w, int64(v))
		case int64:
			writeInt(w, v)
		case uint64:
			var b [20]byte
			n := strconv.AppendUint(b[:0], v, 10)
			writeLen(w, '$', len(n))
			_, _ = w.Write(n)
		case bool:
			n := int64(0)
			if v {
				n = 1
			}
			writeInt(w, n)
		default:
			return fmt.Errorf("cannot send an argument of type %T", arg)
		}
		_, _ = w.WriteString("\r\n")
	}
	return nil
}

func writeLen(w *bufio.Writer, kind byte, n int) {
	b := append(w.AvailableBuffer(), kind)
	b = strconv.AppendInt(b, int64(n), 10)
	_, _ = w.Write(append(b, '\r', '\n'))
}

func writeInt(w *bufio.Writer, n int64) {
	var digits [20]byte
	text := strconv.AppendInt(digits[:0], n, 10)
	b := append(w.AvailableBuffer(), '$')
	b = strconv.AppendInt(b, int64(len(text)), 10)
	b = append(b, '\r', '\n')
	_, _ = w.Write(append(b, text...))
}

// readReply reads a reply: a string, an int64, an [Error], a list of them ([]any), or nil. budget
// is the maximum number of bytes in memory. An [Error] is returned as a value. The returned error
// is an error of the connection, which can then no longer be used.
func readReply(r *bufio.Reader, budget int) (any, error) {
	return (&decoder{r: r, left: budget}).value(0)
}

type decoder struct {
	r    *bufio.Reader
	left int
}

func protocolErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrProtocol}, args...)...)
}

func (d *decoder) value(depth int) (any, error) {
	line, err := d.line()
	if err != nil {
		if depth > 0 && errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, err
	}
	if d.left -= perValue + len(line); d.left < 0 {
		return nil, protocolErrorf("the reply is too long")
	}
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return string(rest), nil
	case '-':
		return Error(rest), nil
	case ':':
		n, err := strconv.ParseInt(string(rest), 10, 64)
		if err != nil {
			return nil, protocolErrorf("%.50q is not a number", rest)
		}
		return n, nil
	case '$':
		n, err := parseLength(rest, maxBulk)
		if n < 0 || err != nil {
			return nil, err
		}
		return d.bulk(n)
	case '*':
		n, err := parseLength(rest, maxReply/perValue)
		if n < 0 || err != nil {
			return nil, err
		}
		return d.list(n, depth)
	}
	return nil, protocolErrorf("%.50q does not begin a reply", line)
}

// line reads up to the end of the line. A line has at least one byte. The line is valid until the
// next read.
func (d *decoder) line() ([]byte, error) {
	line, err := d.r.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		long := append([]byte(nil), line...)
		for errors.Is(err, bufio.ErrBufferFull) && len(long) <= maxLine {
			line, err = d.r.ReadSlice('\n')
			long = append(long, line...)
		}
		line = long
	}
	switch {
	case errors.Is(err, bufio.ErrBufferFull) || len(line) > maxLine:
		return nil, protocolErrorf("a line is too long")
	case err != nil && len(line) > 0 && errors.Is(err, io.EOF):
		return nil, io.ErrUnexpectedEOF
	case err != nil:
		return nil, err
	case len(line) < 3 || line[len(line)-2] != '\r':
		return nil, protocolErrorf("%.50q is not a line", line)
	}
	return line[:len(line)-2], nil
}

// parseLength parses the length of a string or a list; -1 means null.
func parseLength(text []byte, most int) (int, error) {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < -1 || n > most {
		return 0, protocolErrorf("%.50q is not a length", text)
	}
	return n, nil
}

// bulk reads a string of n bytes.
func (d *decoder) bulk(n int) (any, error) {
	if d.left -= n; d.left < 0 {
		return nil, protocolErrorf("the reply is too long")
	}
	if n+2 <= bufferSize {
		b, err := d.r.Peek(n + 2)
		if err != nil {
			return nil, unexpectedEOF(err)
		}
		if b[n] != '\r' || b[n+1] != '\n' {
			return nil, protocolErrorf("a string is longer than its stated length")
		}
		s := string(b[:n])
		_, err = d.r.Discard(n + 2)
		return s, err
	}
	const step = 1 << 20
	b := make([]byte, min(n, step))
	for have := 0; ; {
		if _, err := io.ReadFull(d.r, b[have:]); err != nil {
			return nil, unexpectedEOF(err)
		}
		if have = len(b); have == n {
			break
		}
		more := make([]byte, min(n, 2*have))
		copy(more, b)
		b = more
	}
	var end [2]byte
	if _, err := io.ReadFull(d.r, end[:]); err != nil {
		return nil, unexpectedEOF(err)
	}
	if end != [2]byte{'\r', '\n'} {
		return nil, protocolErrorf("a string is longer than its stated length")
	}
	return string(b), nil
}

func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

func (d *decoder) list(n, depth int) (any, error) {
	if depth == maxDepth {
		return nil, protocolErrorf("lists are too deep")
	}
	list := make([]any, 0, min(n, 1024))
	for range n {
		v, err := d.value(depth + 1)
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, nil
}
