package object

import (
	"context"
	"errors"
	"iter"
	"net/http"
	"sync"
	"time"

	"github.com/holdfast-dev/holdfast/internal/s3"
)

// Errors for answers of a bucket that are not failures.
var (
	errMissing = errors.New("no such object")
	errTaken   = errors.New("the object is not as expected") // a condition failed
)

// bucket is the part of S3 that the store needs. Keys are below prefix.
type bucket struct {
	client *s3.Client
	name   string
	prefix string
}

// object is an object, or the start of one.
type object struct {
	body []byte
	etag string
	date time.Time // the server's time of the answer; zero if unknown
}

// listed is an object in a listing.
type listed struct {
	key      string // key without the store's prefix
	etag     string
	size     int64
	modified time.Time // by the server's clock
}

// readTries is the maximum number of times that an object is read if its body breaks off.
const readTries = 3

// get reads an object, or its first bytes if limit is not 0.
func (b *bucket) get(ctx context.Context, key string, limit int64) (object, error) {
	return b.getRange(ctx, key, 0, limit-1)
}

// getRange reads a range of bytes of an object; all of them if to is less than 0.
func (b *bucket) getRange(ctx context.Context, key string, from, to int64) (o object, err error) {
	for range readTries {
		if o, err = b.getOnce(ctx, key, from, to); err == nil || errors.Is(err, errMissing) || ctx.Err() != nil {
			break
		}
	}
	return o, err
}

func (b *bucket) getOnce(ctx context.Context, key string, from, to int64) (object, error) {
	body, info, err := b.client.Get(ctx, b.prefix+key, from, to)
	return object{body: body, etag: info.ETag, date: info.Date}, kindOf(ctx, err)
}

// create creates an object, or returns errTaken if the object already exists.
func (b *bucket) create(ctx context.Context, key string, body []byte) (object, error) {
	return b.write(ctx, key, body, s3.IfNone)
}

// replace writes an object that must have the given etag. It returns errTaken if the object has
// another etag or does not exist.
func (b *bucket) replace(ctx context.Context, key, etag string, body []byte) (object, error) {
	return b.write(ctx, key, body, s3.IfETag(etag))
}

// put writes an object unconditionally.
func (b *bucket) put(ctx context.Context, key string, body []byte) error {
	_, err := b.write(ctx, key, body, s3.Condition{})
	return err
}

func (b *bucket) write(ctx context.Context, key string, body []byte, on s3.Condition) (object, error) {
	info, err := b.client.Put(ctx, b.prefix+key, "application/jsonl", body, on)
	err = kindOf(ctx, err)
	if errors.Is(err, errMissing) { // If-Match on a deleted object
		err = errTaken
	}
	return object{etag: info.ETag, date: info.Date}, err
}

// remove removes objects; missing ones are not an error.
func (b *bucket) remove(ctx context.Context, keys []string) error {
	return inParallel(ctx, keys, func(ctx context.Context, key string) error {
		err := kindOf(ctx, b.client.Delete(ctx, b.prefix+key))
		if errors.Is(err, errMissing) {
			return nil
		}
		return err
	})
}

// list yields the objects below a prefix in the order of their keys. If after is not "", it yields
// only the objects after that key. S3 lists every object whose write was acknowledged before.
func (b *bucket) list(ctx context.Context, under, after string) iter.Seq2[listed, error] {
	return func(yield func(listed, error) bool) {
		for try := 1; ; try++ {
			stopped, err := b.listOnce(ctx, under, &after, yield)
			if stopped || err == nil {
				return
			}
			if _, answered := errors.AsType[*s3.Error](err); answered || try == readTries || ctx.Err() != nil {
				yield(listed{}, err)
				return
			}
		}
	}
}

// listOnce lists one page of the objects after a key, and advances the key.
func (b *bucket) listOnce(ctx context.Context, under string, after *string, yield func(listed, error) bool) (stopped bool, err error) {
	from := ""
	if *after != "" {
		from = b.prefix + *after
	}
	for o, err := range b.client.List(ctx, b.prefix+under, from) {
		if err != nil {
			return false, kindOf(ctx, err)
		}
		*after = o.Key[len(b.prefix):]
		if !yield(listed{*after, o.ETag, o.Size, o.Modified}, nil) {
			return true, nil
		}
	}
	return false, ctx.Err()
}

// kindOf converts S3's errors to errMissing or errTaken where they apply.
func kindOf(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	e, ok := errors.AsType[*s3.Error](err)
	switch {
	case !ok:
		return err
	case e.Code == "NoSuchKey" || e.Status == http.StatusNotFound && e.Code != "NoSuchBucket":
		return errMissing
	case e.Status == http.StatusPreconditionFailed || e.Code == "PreconditionFailed" || e.Code == "ConditionalRequestConflict":
		return errTaken
	}
	return err
}

// parallel is the maximum number of concurrent requests of one call.
const parallel = 16

// inParallel calls do for each element of all, several at a time, and returns the first error.
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
