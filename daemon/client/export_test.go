package client

import (
	"bufio"
	"io"
)

// ReadFrames reads a stream to its end, for fuzzing.
func ReadFrames(r io.Reader) {
	in := &frames{in: bufio.NewReader(r)}
	for {
		f, err := in.next()
		if err != nil {
			return
		}
		_, _ = decode(f)
	}
}

// VersionError is the error for a daemon of another protocol.
type VersionError = versionError
