package logpipe

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
)

// A frame is a head in JSON and a blob of bytes that must stay as they are: the payloads
// of records, the wire forms of items.
//
//	4 bytes: length of the head │ 4 bytes: length of the blob │ head │ blob
//
// Lengths are big endian.

// maxFrame bounds a frame's head and its blob, each: who sends more is not one of us.
const maxFrame = 1 << 30

var errFrame = errors.New("not a frame of ours")

// frames reads and writes the frames of a connection. Reading is for one goroutine at a
// time, writing for any number.
type frames struct {
	rw io.ReadWriteCloser

	writing sync.Mutex
	failed  error // of writing: half a frame may have gone out
}

func (f *frames) write(head any, blob []byte) error {
	h, err := encode(head)
	if err != nil {
		return err
	}
	if len(h) > maxFrame || len(blob) > maxFrame {
		return fmt.Errorf("a message of %d bytes is too long", len(h)+len(blob))
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

// encode is JSON as it is, without escapes for HTML.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// read returns the next frame, its head decoded into head. io.EOF when the other side
// has ended between two frames.
func (f *frames) read(head any) (blob []byte, err error) { return readFrame(f.rw, head) }

func readFrame(r io.Reader, head any) (blob []byte, err error) {
	var lengths [8]byte
	if _, err := io.ReadFull(r, lengths[:]); err != nil {
		return nil, err
	}
	h, err := readPart(r, binary.BigEndian.Uint32(lengths[:]))
	if err != nil {
		return nil, err
	}
	if blob, err = readPart(r, binary.BigEndian.Uint32(lengths[4:])); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(h, head); err != nil {
		return nil, fmt.Errorf("%w: %w", errFrame, err)
	}
	return blob, nil
}

// readPart reads n bytes. Memory grows with what has come, not with what is promised.
func readPart(r io.Reader, n uint32) ([]byte, error) {
	if n > maxFrame {
		return nil, fmt.Errorf("%w: it says that it has %d bytes", errFrame, n)
	}
	if n <= 64<<10 {
		b := make([]byte, n)
		_, err := io.ReadFull(r, b)
		return b, whole(err)
	}
	var b bytes.Buffer
	got, err := io.CopyN(&b, r, int64(n))
	if err != nil || got < int64(n) {
		return nil, whole(err)
	}
	return b.Bytes(), nil
}

// whole is the error for a frame that ends too early.
func whole(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
