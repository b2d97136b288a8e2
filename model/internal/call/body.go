package call

import (
	"bytes"
	"io"
)

// Body is a request body in pieces. It keeps the slices that are added, so that a long session is
// sent without being copied first. The zero value is empty.
type Body struct {
	pieces [][]byte
	size   int64
}

// Grow reserves space for n more pieces.
func (b *Body) Grow(n int) {
	b.pieces = append(make([][]byte, 0, len(b.pieces)+n), b.pieces...)
}

// Add appends a piece. The slice must not change while the body is in use.
func (b *Body) Add(piece []byte) {
	if len(piece) == 0 {
		return
	}
	b.pieces = append(b.pieces, piece)
	b.size += int64(len(piece))
}

// Size is the body's length in bytes.
func (b *Body) Size() int64 { return b.size }

// Reader reads the body from its start. Closing it does nothing.
func (b *Body) Reader() io.ReadCloser { return &bodyReader{pieces: b.pieces} }

// Bytes returns the body as one slice. It is for tests; requests are sent with Reader.
func (b *Body) Bytes() []byte { return bytes.Join(b.pieces, nil) }

type bodyReader struct {
	pieces [][]byte
	off    int // in pieces[0]
}

func (r *bodyReader) Read(p []byte) (int, error) {
	n := 0
	for n < len(p) && len(r.pieces) > 0 {
		c := copy(p[n:], r.pieces[0][r.off:])
		n += c
		if r.off += c; r.off == len(r.pieces[0]) {
			r.pieces, r.off = r.pieces[1:], 0
		}
	}
	if n == 0 && len(p) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (r *bodyReader) Close() error { return nil }
