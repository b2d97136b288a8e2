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

// A frame consists of a JSON head and a blob. The blob contains bytes that must not change, such as
// the payloads of records and encoded items.
//
//	4 bytes: length of the head │ 4 bytes: length of the blob │ head │ blob
//
// Lengths are big endian.

// frameLimits has the limits for frames in one direction, in bytes and in the number of JSON values
// in the head. Holdfast never sends more.
type frameLimits struct{ head, blob, values int }

var (
	// hostReadLimits has the limits for frames that the host reads. A head of few bytes can need much
	// memory after it is decoded.
	hostReadLimits = frameLimits{head: 64 << 20, blob: 256 << 20, values: 1 << 17}
	// containerReadLimits has the limits for frames that the container reads.
	containerReadLimits = frameLimits{head: 1 << 30, blob: 1 << 30, values: 1 << 30}
)

var errFrame = errors.New("not a valid frame")

// frames reads and writes the frames of a connection. Only one goroutine at a time may read, but
// any number may write.
type frames struct {
	rw      io.ReadWriteCloser
	in, out frameLimits

	writing sync.Mutex
	failed  error // the first error of a write, after which a frame may have been sent in part
}

func (f *frames) write(head any, blob []byte) error {
	h, err := jsonscan.Marshal(head)
	if err != nil {
		return err
	}
	if len(h) > f.out.head || len(blob) > f.out.blob || len(h) > f.out.values && estimateValues(h) > f.out.values {
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

// read returns the next frame and decodes its head. It returns io.EOF if the other side ended the
// stream between two frames.
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
	if n := estimateValues(h); n > most.values {
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

// estimateValues estimates the number of values in a JSON text.
func estimateValues(b []byte) int {
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

// readPart reads n bytes. It allocates memory as the data arrives, not for the size that the frame
// claims.
func readPart(r io.Reader, n uint32, most int) ([]byte, error) {
	if int64(n) > int64(most) {
		return nil, fmt.Errorf("%w: it announces %d bytes", errFrame, n)
	}
	b := make([]byte, min(int(n), 64<<10))
	for got := 0; ; {
		if _, err := io.ReadFull(r, b[got:]); err != nil {
			return nil, unexpectedEOF(err)
		}
		if got = len(b); got == int(n) {
			return b, nil
		}
		more := make([]byte, min(int(n), 2*got))
		copy(more, b)
		b = more
	}
}

// unexpectedEOF converts io.EOF to io.ErrUnexpectedEOF, because the frame is truncated.
func unexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
