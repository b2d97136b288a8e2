package daemon

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	"github.com/holdfast-dev/holdfast/internal/outcome"
)

// readBody reads a JSON body of at most limit bytes. A missing body is treated as an empty one.
func readBody(w http.ResponseWriter, r *http.Request, limit int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, refuse(outcome.TooLarge, fmt.Sprintf("the body is larger than %d bytes", limit), "")
	}
	if err != nil {
		return nil, wrapProblem(outcome.Usage, "", fmt.Errorf("cannot read the body: %w", err))
	}
	if len(b) == 0 {
		return nil, nil
	}
	if t, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || t != "application/json" {
		return nil, refuse(outcome.MediaType, fmt.Sprintf("the body has the content type %q", r.Header.Get("Content-Type")),
			"Content-Type: application/json")
	}
	return b, nil
}
