package engine

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
)

// The kinds of content in a frame. The kind is the first byte of the frame. Three zero bytes and
// the size of the content follow.
const (
	frameInput  = 0 // no engine sends it; treated as output
	frameOutput = 1
	frameErrors = 2
	frameEngine = 3 // a message of the engine itself
)

// split copies the output and the errors of a process to two writers, from the frames of an
// engine's stream. It returns nil if the stream ends between two frames. Within a frame, the error
// is [io.ErrUnexpectedEOF].
func split(output, errors io.Writer, frames io.Reader) error {
	r := bufio.NewReaderSize(frames, 32<<10)
	buf := make([]byte, 32<<10)
	for {
		var head [8]byte
		if _, err := io.ReadFull(r, head[:]); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		left := int64(binary.BigEndian.Uint32(head[4:]))
		to := output
		switch head[0] {
		case frameInput, frameOutput:
		case frameErrors:
			to = errors
		case frameEngine:
			text, err := io.ReadAll(io.LimitReader(r, min(left, keptErrors)))
			if err != nil {
				return err
			}
			return fmt.Errorf("error of the engine: %s", text)
		default:
			return fmt.Errorf("a frame of the stream has the unknown kind %d", head[0])
		}
		for left > 0 {
			n, err := r.Read(buf[:min(left, int64(len(buf)))])
			left -= int64(n)
			if n > 0 {
				if _, err := to.Write(buf[:n]); err != nil {
					return err
				}
			}
			switch {
			case err == io.EOF && left > 0:
				return io.ErrUnexpectedEOF
			case err != nil && err != io.EOF:
				return err
			}
		}
	}
}
