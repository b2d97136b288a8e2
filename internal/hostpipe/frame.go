package hostpipe

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/holdfast-dev/holdfast/internal/jsonscan"
	"github.com/holdfast-dev/holdfast/session"
)

// A frame is a head in JSON and a blob of bytes that must stay as they are: the payloads
// of records, the wire forms of items.
//
//	4 bytes: length of the head │ 4 bytes: length of the blob │ head │ blob
//
// Lengths are big endian.

// frameLimits bounds the frames of one direction, in bytes and in values of the head: who
// sends more is not one of us.
type frameLimits struct{ head, blob, values int }

var (
	// hostOps is what a host takes. A small head can be large once it is read.
	hostOps = frameLimits{head: 64 << 20, blob: 256 << 20, values: 1 << 17}
	// containerOps is what a process takes from its host.
	containerOps = frameLimits{head: 1 << 30, blob: 1 << 30, values: 1 << 30}
)

var errFrame = errors.New("not a frame of ours")

// frames reads and writes the frames of a connection. Reading is for one goroutine at a
// time, writing for any number.
type frames struct {
	rw      io.ReadWriteCloser
	in, out frameLimits

	writing sync.Mutex
	failed  error // of writing: half a frame may have gone out
}

func (f *frames) write(head any, blob []byte) error {
	h, err := jsonscan.Marshal(head)
	if err != nil {
		return err
	}
	if len(h) > f.out.head || len(blob) > f.out.blob || len(h) > f.out.values && values(h) > f.out.values {
		return fmt.Errorf("%w: a message of %d MiB is too long", session.ErrInvalid, (len(h)+len(blob))>>20)
	}
	buf := make([]byte, 8, 8+len(h))
	binary.BigEndian.PutUint32(buf, uint32(len(h)))
	binary.BigEndian.PutUint32(buf[4:], uint32(len(blob)))
	buf = append(buf, h...)
	if len(blob) <= 64<<10 {
		buf, blob = append(buf, blob...), nil
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if f.failed != nil {
		return f.failed
	}
	if _, f.failed = f.rw.Write(buf); f.failed == nil && len(blob) > 0 {
		_, f.failed = f.rw.Write(blob)
	}
	return f.failed
}

// read returns the next frame, its head decoded into head. io.EOF when the other side
// has ended between two frames.
func (f *frames) read(head any) (blob []byte, err error) { return readFrame(f.rw, head, f.in) }

func readFrame(r io.Reader, head any, most frameLimits) (blob []byte, err error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return nil, err
	}
	h, err := readPart(r, binary.BigEndian.Uint32(lengths[:]), most.head)
	if err != nil {
		return nil, err
	}
	if n := values(h); n > most.values {
		return nil, fmt.Errorf("%w: its head has %d values", errFrame, n)
	}
	if blob, err = readPart(r, binary.BigEndian.Uint32(lengths[4:]), most.blob); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(h, head); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return blob, nil
}

// values is about how many values a text in JSON has.
func values(b []byte) int {
	n, inside := 1, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inside && c == '\\':
			i++
		case c == '"':
			inside = !inside
		case !inside && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

// readPart reads n bytes. Memory grows with what has come, not with what is promised.
func readPart(r io.Reader, n uint32, most int) ([]byte, error) {
	if int64(n) > int64(most) {
		return nil, fmt.Errorf("%w: it says that it has %d bytes", errFrame, n)
	}
	b := make([]byte, min(int(n), 64<<10))
	for got := 0; ; {
		if _, err := io.ReadFull(r, b[got:]); err != nil {
			return nil, whole(err)
		}
		if got = len(b); got == int(n) {
			return b, nil
		}
		more := make([]byte, min(int(n), 2*got))
		copy(more, b)
		b = more
	}
}

// whole is the error for a frame that ends too early.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
