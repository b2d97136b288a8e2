package command

import (
	"context"
	"io"
)

// Input returns standard input. A read returns when ctx ends, so that a signal also ends a read
// that waits for a line. Only one reader at a time may use it.
func (p *Program) Input(ctx context.Context) io.Reader {
	return &contextReader{ctx: ctx, in: p.Stdin, pieces: make(chan chunk)}
}

// contextReader reads in a goroutine. The goroutine ends at the end of the input, when ctx ends, or
// with the process.
type contextReader struct {
	ctx     context.Context
	in      io.Reader
	pieces  chan chunk
	started bool
	rest    chunk
}

// chunk has the data and the error of one read.
type chunk struct {
	data []byte
	err  error
}

// Read implements io.Reader.
func (r *contextReader) Read(b []byte) (int, error) {
	if !r.started {
		r.started = true
		go r.pump()
	}
	if len(r.rest.data) == 0 && r.rest.err == nil {
		select {
		case r.rest = <-r.pieces:
		case <-r.ctx.Done():
			return 0, r.ctx.Err()
		}
	}
	n := copy(b, r.rest.data)
	if r.rest.data = r.rest.data[n:]; len(r.rest.data) > 0 {
		return n, nil
	}
	return n, r.rest.err
}

func (r *contextReader) pump() {
	for {
		data := make([]byte, 64<<10)
		n, err := r.in.Read(data)
		select {
		case r.pieces <- chunk{data[:n], err}:
		case <-r.ctx.Done():
			return
		}
		if err != nil {
			return
		}
	}
}

// InputLimit is the maximum size of standard input.
const InputLimit = 10 << 20
