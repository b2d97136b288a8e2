package stores

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"html"
	"io"
	"os"

	"github.com/holdfast-dev/holdfast/session"
)

// Exports are read in pieces, so that memory use does not depend on their size. A match longer than
// exportOverlap may be missed at the border of two pieces.
const (
	exportChunk   = 4 << 20
	exportOverlap = 1 << 20
	exportLine    = 16 << 20 // a line that is longer is not a record; it is read as a JSON document
)

// readExport reports whether an export contains the erased content, and returns the digest of the
// file.
func readExport(e *session.Erasing, path string) (masked bool, sum string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return false, "", err
	}
	sum = hex.EncodeToString(h.Sum(nil))
	if e.Mask == nil {
		return false, sum, nil
	}
	for _, find := range []func(*session.Erasing, io.Reader) (bool, error){masksText, masksLines, masksDocument} {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return false, sum, err
		}
		if masked, err = find(e, f); masked || err != nil {
			return masked, sum, err
		}
	}
	return false, sum, nil
}

// masksText reports whether the mask matches a text, either plain or HTML-escaped.
func masksText(e *session.Erasing, r io.Reader) (bool, error) {
	piece := make([]byte, 0, exportChunk)
	for {
		n, err := io.ReadFull(r, piece[len(piece):cap(piece)])
		piece = piece[:len(piece)+n]
		text := string(piece)
		if e.Hits(text) || e.Hits(html.UnescapeString(text)) {
			return true, nil
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return false, nil
		case err != nil:
			return false, err
		}
		from := len(piece) - exportOverlap
		if i := bytes.IndexByte(piece[from:], '\n'); i >= 0 && i < exportOverlap/2 {
			from += i + 1 // part of a line could match although the whole line does not
		}
		piece = piece[:copy(piece, piece[from:])]
	}
}

// masksLines reports whether the mask matches a line that is JSON.
func masksLines(e *session.Erasing, r io.Reader) (bool, error) {
	b := bufio.NewScanner(r)
	b.Buffer(nil, exportLine)
	for b.Scan() {
		if line := bytes.TrimSpace(b.Bytes()); json.Valid(line) && !bytes.Equal(e.Mask(bytes.Clone(line)), line) {
			return true, nil
		}
	}
	if err := b.Err(); !errors.Is(err, bufio.ErrTooLong) {
		return false, err
	}
	return false, nil
}

// masksDocument reports whether the mask matches JSON documents of any length: a string, the name
// of a field, or an element of a list.
func masksDocument(e *session.Erasing, r io.Reader) (bool, error) {
	d := json.NewDecoder(r)
	for {
		found, err := masksValue(e, d)
		var syntax *json.SyntaxError
		switch {
		case found:
			return true, nil
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.As(err, &syntax): // the end of the file, or not JSON
			return false, nil
		case err != nil:
			return false, err
		}
	}
}

func masksValue(e *session.Erasing, d *json.Decoder) (bool, error) {
	t, err := d.Token()
	if err != nil {
		return false, err
	}
	if s, ok := t.(string); ok {
		return e.Hits(s), nil
	}
	if t != json.Delim('{') && t != json.Delim('[') {
		return false, nil
	}
	for d.More() {
		if t == json.Delim('[') {
			var raw json.RawMessage
			if err := d.Decode(&raw); err != nil {
				return false, err
			}
			if !bytes.Equal(e.Mask(bytes.Clone(raw)), raw) {
				return true, nil
			}
			continue
		}
		for range 2 { // the name of the field and its value
			if found, err := masksValue(e, d); found || err != nil {
				return found, err
			}
		}
	}
	_, err = d.Token()
	return false, err
}
