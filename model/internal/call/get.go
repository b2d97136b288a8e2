package call

import (
	"context"
	"errors"
	"io"
	"mime"
	"net/http"

	"github.com/holdfast-dev/holdfast/model"
)

// Get requests a JSON document of at most 32 MiB from a provider. header contains the headers of a
// call.
func (p Provider) Get(ctx context.Context, c *http.Client, address string, header http.Header) ([]byte, *model.Error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, p.StreamBroken(ctx, err)
	}
	req.Header = header.Clone()
	req.Header.Set("Accept", "application/json")
	req.Header.Del("Content-Type")
	res, err := c.Do(req)
	if err != nil {
		return nil, p.StreamBroken(ctx, err)
	}
	defer res.Body.Close()
	if res.StatusCode/100 != 2 {
		x := &Exchange{status: res.StatusCode, header: res.Header}
		x.text, _ = io.ReadAll(io.LimitReader(res.Body, maxErrorBody))
		return nil, p.status(x)
	}
	if kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type")); kind == "text/html" || kind == "application/xhtml+xml" {
		return nil, p.WebPage(res.Body)
	}
	text, err := io.ReadAll(io.LimitReader(res.Body, maxDocument+1))
	switch {
	case err != nil:
		return nil, p.StreamBroken(ctx, err)
	case len(text) > maxDocument:
		return nil, p.Malformed(errors.New("the list is too long"))
	}
	return text, nil
}
