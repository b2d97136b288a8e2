package s3

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Condition is a precondition for writing an object.
type Condition struct{ header, value string }

// IfNone requires that no object has the key.
var IfNone = Condition{"If-None-Match", "*"}

// IfETag requires that the object has an entity tag.
func IfETag(etag string) Condition { return Condition{"If-Match", `"` + etag + `"`} }

// Put writes an object. If on is not the zero value, the object is written only if that condition
// holds. If it does not hold, the error has the code PreconditionFailed or
// ConditionalRequestConflict, or NoSuchKey if the object with the entity tag is gone.
func (c *Client) Put(ctx context.Context, key, contentType string, body []byte, on Condition) (Info, error) {
	header := http.Header{"Content-Type": {contentType}}
	if on.header != "" {
		header[on.header] = []string{on.value}
	}
	resp, date, err := c.do(ctx, call{method: http.MethodPut, key: key, header: header, body: body}, http.StatusOK)
	if err != nil {
		return Info{Date: date}, err
	}
	drain(resp)
	return Info{ETag: trimETag(resp.Header.Get("ETag")), Date: date}, nil
}

// Delete deletes an object. If the object does not exist, most servers return no error, and some
// return NoSuchKey.
func (c *Client) Delete(ctx context.Context, key string) error {
	resp, _, err := c.do(ctx, call{method: http.MethodDelete, key: key}, http.StatusNoContent, http.StatusOK)
	if err == nil {
		drain(resp)
	}
	return err
}

// objectLimit is the largest object that one put can write.
const objectLimit = 5 << 30

// Get reads a range of bytes of an object, including the bytes first and last. If last is less than
// 0, it reads the whole object. The object may end before last.
func (c *Client) Get(ctx context.Context, key string, first, last int64) ([]byte, Info, error) {
	a := call{method: http.MethodGet, key: key}
	limit := int64(objectLimit)
	switch {
	case first < 0 || first > 0 && last < first:
		return nil, Info{}, errNoRange
	case last >= 0:
		a.header = http.Header{"Range": {fmt.Sprintf("bytes=%d-%d", first, last)}}
		limit = last - first + 1
	}
	resp, date, err := c.do(ctx, a, http.StatusOK, http.StatusPartialContent)
	if err != nil {
		return nil, Info{Date: date}, err
	}
	defer resp.Body.Close()
	info := Info{ETag: trimETag(resp.Header.Get("ETag")), Date: date}
	if resp.StatusCode == http.StatusOK && first > 0 { // the server does not support ranges
		if _, err := io.CopyN(io.Discard, resp.Body, first); err != nil {
			return nil, info, wrap(ctx, err)
		}
		resp.ContentLength = max(-1, resp.ContentLength-first)
	}
	var b bytes.Buffer
	if n := min(resp.ContentLength, limit, 64<<20); n > 0 {
		b.Grow(int(n) + bytes.MinRead)
	}
	if _, err := io.Copy(&b, io.LimitReader(resp.Body, limit+1)); err != nil {
		return nil, info, wrap(ctx, err)
	}
	if int64(b.Len()) > limit {
		if limit == objectLimit {
			return nil, info, errors.New("the object exceeds the size limit")
		}
		b.Truncate(int(limit))
	}
	return b.Bytes(), info, nil
}

// wrap returns the context's error if the context has ended, otherwise the read error.
func wrap(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// drain reads the rest of a response, so that its connection can be reused.
func drain(resp *http.Response) {
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, errorLimit))
	resp.Body.Close()
}

func trimETag(etag string) string {
	return strings.TrimSuffix(strings.TrimPrefix(etag, `"`), `"`)
}
