package s3

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// Listed is an object in a listing.
type Listed struct {
	Key      string
	ETag     string // without quotation marks
	Size     int64
	Modified time.Time // by the server's clock, in whole milliseconds
}

// listLimit is the maximum size of a page of a listing: 1,000 keys of 1,024 bytes, each of which
// may be encoded as three bytes.
const listLimit = 16 << 20

// List yields the objects whose keys begin with a prefix, in the order of their keys. If after is
// not "", it yields only the objects after that key.
func (c *Client) List(ctx context.Context, prefix, after string) iter.Seq2[Listed, error] {
	return func(yield func(Listed, error) bool) {
		for token := ""; ; {
			page, err := c.page(ctx, prefix, after, token)
			if err != nil {
				yield(Listed{}, err)
				return
			}
			for _, o := range page.Contents {
				l, err := o.listed(page.EncodingType, prefix)
				if !yield(l, err) || err != nil {
					return
				}
			}
			if !page.IsTruncated {
				return
			}
			if page.NextContinuationToken == "" || page.NextContinuationToken == token {
				yield(Listed{}, errors.New("the server truncated a list without a continuation token"))
				return
			}
			token = page.NextContinuationToken
		}
	}
}

// page is one page of a listing.
type page struct {
	IsTruncated           bool
	NextContinuationToken string
	EncodingType          string
	Contents              []content
}

type content struct {
	Key, ETag, LastModified string
	Size                    int64
}

func (c *Client) page(ctx context.Context, prefix, after, token string) (p page, err error) {
	query := url.Values{"list-type": {"2"}, "encoding-type": {"url"}, "prefix": {prefix}}
	if after != "" {
		query.Set("start-after", after)
	}
	if token != "" {
		query.Set("continuation-token", token)
	}
	return p, c.getXML(ctx, query, &p)
}

// getXML gets and decodes a description of the bucket.
func (c *Client) getXML(ctx context.Context, query url.Values, to any) error {
	resp, _, err := c.do(ctx, call{method: http.MethodGet, query: query}, http.StatusOK)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, listLimit))
	if err != nil {
		return wrap(ctx, err)
	}
	if err := xml.Unmarshal(body, to); err != nil {
		return fmt.Errorf("invalid response from the server: %w", err)
	}
	return nil
}

// listed converts an entry of a listing.
func (o content) listed(encoding, prefix string) (Listed, error) {
	key := o.Key
	if encoding == "url" {
		var err error
		if key, err = url.QueryUnescape(key); err != nil {
			return Listed{}, fmt.Errorf("invalid key in a list: %w", err)
		}
	}
	if !strings.HasPrefix(key, prefix) {
		return Listed{}, errors.New("the server listed keys that were not requested")
	}
	// A caller that removes old objects must not mistake an invalid time for a very old one.
	modified, err := time.Parse(time.RFC3339, o.LastModified)
	if err != nil {
		return Listed{}, fmt.Errorf("invalid time in a list: %w", err)
	}
	return Listed{Key: key, ETag: trimETag(o.ETag), Size: o.Size, Modified: modified.Truncate(time.Millisecond)}, nil
}

// KeepsVersions reports whether the bucket keeps overwritten and deleted objects.
func (c *Client) KeepsVersions(ctx context.Context) (bool, error) {
	var v struct{ Status string }
	err := c.getXML(ctx, url.Values{"versioning": {""}}, &v)
	return v.Status == "Enabled", err
}
