package object

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/minio/minio-go/v7"
)

// What a bucket answers, apart from failing.
var (
	errMissing = errors.New("no such object")
	errTaken   = errors.New("the object is not as expected") // a condition did not hold
)

// bucket is as much of S3 as the store needs. Keys lie below prefix.
type bucket struct {
	client minio.Core
	name   string
	prefix string
}

// object is an object, or the beginning of one.
type object struct {
	body []byte
	etag string
	date time.Time // the server's clock when it answered; zero when it did not say
}

// listed is an object in a listing.
type listed struct {
	key      string // without the prefix
	etag     string
	size     int64
	modified time.Time // by the server's clock
}

// readTries is how often an object is read whose body breaks off.
const readTries = 3

// get reads an object, or its first bytes when limit is not 0.
func (b *bucket) get(ctx context.Context, key string, limit int64) (object, error) {
	return b.getRange(ctx, key, 0, limit-1)
}

// getRange reads the bytes of an object from one to another; all of them when to is
// less than 0.
func (b *bucket) getRange(ctx context.Context, key string, from, to int64) (o object, err error) {
	for range readTries {
		if o, err = b.getOnce(ctx, key, from, to); err == nil || errors.Is(err, errMissing) || ctx.Err() != nil {
			break
		}
	}
	return o, err
}

func (b *bucket) getOnce(ctx context.Context, key string, from, to int64) (object, error) {
	var o object
	var opts minio.GetObjectOptions
	if to >= 0 {
		if err := opts.SetRange(from, to); err != nil {
			return o, err
		}
	}
	body, info, _, err := b.client.GetObject(withDate(ctx, &o.date), b.name, b.prefix+key, opts)
	if err != nil {
		return o, kindOf(ctx, err)
	}
	defer body.Close()
	o.etag = info.ETag
	var buf bytes.Buffer
	if info.Size > 0 {
		buf.Grow(int(min(info.Size, 64<<20)) + bytes.MinRead)
	}
	if _, err := io.Copy(&buf, body); err != nil {
		return o, kindOf(ctx, err)
	}
	o.body = buf.Bytes()
	return o, nil
}

// create makes an object that must not exist. errTaken when it does.
func (b *bucket) create(ctx context.Context, key string, body []byte) (object, error) {
	var opts minio.PutObjectOptions
	opts.SetMatchETagExcept("*")
	return b.write(ctx, key, body, opts)
}

// replace writes an object that must have an etag. errTaken when it has another or is gone.
func (b *bucket) replace(ctx context.Context, key, etag string, body []byte) (object, error) {
	var opts minio.PutObjectOptions
	opts.SetMatchETag(etag)
	return b.write(ctx, key, body, opts)
}

// put writes an object, whatever is there.
func (b *bucket) put(ctx context.Context, key string, body []byte) error {
	_, err := b.write(ctx, key, body, minio.PutObjectOptions{})
	return err
}

func (b *bucket) write(ctx context.Context, key string, body []byte, opts minio.PutObjectOptions) (object, error) {
	var o object
	opts.ContentType, opts.DisableMultipart = "application/jsonl", true
	info, err := b.client.Client.PutObject(withDate(ctx, &o.date), b.name, b.prefix+key, bytes.NewReader(body), int64(len(body)), opts)
	if errors.Is(kindOf(ctx, err), errMissing) { // If-Match on what is gone
		return o, errTaken
	}
	o.etag = info.ETag
	return o, kindOf(ctx, err)
}

// remove removes objects; what is not there is no error.
func (b *bucket) remove(ctx context.Context, keys []string) error {
	return inParallel(ctx, keys, func(ctx context.Context, key string) error {
		err := b.client.RemoveObject(ctx, b.name, b.prefix+key, minio.RemoveObjectOptions{})
		if err = kindOf(ctx, err); errors.Is(err, errMissing) {
			return nil
		}
		return err
	})
}

// list yields the objects below a prefix in the order of their keys, those after a
// key only when that is not "". S3 lists what was acknowledged before.
func (b *bucket) list(ctx context.Context, under, after string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for try := 1; ; try++ {
			stopped, err := b.listOnce(ctx, under, &after, yield)
			if stopped || err == nil {
				return
			}
			if _, said := errors.AsType[minio.ErrorResponse](err); said || try == readTries || ctx.Err() != nil {
				yield(listed{}, err)
				return
			}
		}
	}
}

// listOnce lists what comes after a key, which it moves on.
func (b *bucket) listOnce(ctx context.Context, under string, after *string, yield func(listed, error) bool) (stopped bool, err error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	opts := minio.ListObjectsOptions{Prefix: b.prefix + under, Recursive: true}
	if *after != "" {
		opts.StartAfter = b.prefix + *after
	}
	for o := range b.client.ListObjectsIter(ctx, b.name, opts) {
		if o.Err != nil {
			return false, kindOf(ctx, o.Err)
		}
		*after = o.Key[len(b.prefix):]
		if !yield(listed{*after, trimQuotes(o.ETag), o.Size, o.LastModified}, nil) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

func trimQuotes(etag string) string {
	if len(etag) > 1 && etag[0] == '"' {
		return etag[1 : len(etag)-1]
	}
	return etag
}

// kindOf makes what S3 says errMissing or errTaken where it is that.
func kindOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e, ok := errors.AsType[minio.ErrorResponse](err)
	switch {
	case !ok:
		return err
	case e.Code == "NoSuchKey" || e.StatusCode == http.StatusNotFound && e.Code != "NoSuchBucket":
		return errMissing
	case e.StatusCode == http.StatusPreconditionFailed || e.Code == "PreconditionFailed" || e.Code == "ConditionalRequestConflict":
		return errTaken
	}
	return err
}

// parallel is how many requests one call has under way at once.
const parallel = 16

// inParallel calls do for each of all, and returns the first error.
func inParallel[T any](ctx context.Context, all []T, do func(context.Context, T) error) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wg sync.WaitGroup
	room := make(chan struct{}, parallel)
	for _, one := range all {
		room <- struct{}{}
		if ctx.Err() != nil {
			break
		}
		wg.Go(func() {
			defer func() { <-room }()
			if err := do(ctx, one); err != nil {
				stop(err)
			}
		})
	}
	wg.Wait()
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return nil
}

// dateKey is where a request's context says where the server's time goes.
type dateKey struct{}

func withDate(ctx context.Context, to *time.Time) context.Context {
	return context.WithValue(ctx, dateKey{}, to)
}

// dated notes what time the server says it is.
type dated struct{ next http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (d dated) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := d.next.RoundTrip(r)
	if to, ok := r.Context().Value(dateKey{}).(*time.Time); ok && err == nil {
		*to, _ = http.ParseTime(resp.Header.Get("Date"))
	}
	return resp, err
}
