//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// stores compares the durable append of each backend with the bare append of its engine.
func (b *bench) stores(ctx context.Context) error {
	for _, be := range b.availableBackends() {
		if err := b.withPlace(ctx, be, func(p *place) error { return b.engine(ctx, be, p) }); err != nil {
			return err
		}
	}
	return nil
}

func (b *bench) engine(ctx context.Context, be backend, p *place) (err error) {
	store, err := p.open(ctx)
	if err != nil {
		return err
	}
	defer closeStore(store)
	sessions := session.New(store, nil)
	var bare bareWay
	if p.bare != nil {
		if bare, err = p.bare(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, bare.Close()) }()
	}
	if err := b.oneWriter(ctx, be, sessions, bare); err != nil {
		return err
	}
	return b.manyWriters(ctx, be, sessions, bare)
}

// oneWriter measures appends of the store and bare appends, one after the other.
func (b *bench) oneWriter(ctx context.Context, be backend, sessions *session.Sessions, bare bareWay) error {
	log, err := sessions.Create(ctx, session.Opened{})
	if err != nil {
		return err
	}
	defer log.Close()
	store := func() (time.Duration, error) {
		d := session.ItemDraft(item(sessions.NewID()), false, nil)
		begun := time.Now()
		_, err := log.Append(ctx, d)
		return time.Since(begun), err
	}
	control := func() (time.Duration, error) { return 0, nil }
	if bare != nil {
		payload := session.ItemDraft(item(sessions.NewID()), false, nil).Payload
		control = func() (time.Duration, error) {
			begun := time.Now()
			err := bare.append(ctx, 0, payload)
			return time.Since(begun), err
		}
	}
	n := b.rounds(300, 20)
	if _, _, err := takeTurns(n/2, store, control); err != nil { // warm-up
		return err
	}
	var all, bares []time.Duration
	var ratios []float64
	for range b.rounds(9, 3) {
		o, c, err := takeTurns(n, store, control)
		if err != nil {
			return err
		}
		all, bares = append(all, o...), append(bares, c...)
		ratios = append(ratios, float64(median(o))/float64(median(c)))
	}
	what := "durable append, one writer, " + be.name
	if bare == nil {
		b.add("append, one writer, "+be.name, spread(all), "", "", "")
		return nil
	}
	b.add(what, spread(all), be.control+" "+spread(bares), quartiles(ratios, "×"), goal("≤ 1.3 ×", middle(ratios) <= 1.3))
	return nil
}

// takeTurns calls both functions n times. The second call of a pair finds the disk slightly warmer,
// so each function is first in every other pair.
func takeTurns(n int, subject, control func() (time.Duration, error)) (o, c []time.Duration, err error) {
	for i := range n {
		first, second := subject, control
		if i%2 == 1 {
			first, second = control, subject
		}
		x, err1 := first()
		y, err2 := second()
		if err := errors.Join(err1, err2); err != nil {
			return nil, nil, err
		}
		if i%2 == 1 {
			x, y = y, x
		}
		o, c = append(o, x), append(c, y)
	}
	return o, c, nil
}

// manyWriters measures 64 writers that append to their own sessions for a while, and then 64
// writers that use the bare way. Each of the two is measured first in every other round.
func (b *bench) manyWriters(ctx context.Context, be backend, sessions *session.Sessions, bare bareWay) (err error) {
	logs := make([]*session.Log, writers)
	for i := range logs {
		if logs[i], err = sessions.Create(ctx, session.Opened{}); err != nil {
			return err
		}
		defer logs[i].Close()
	}
	store := func(w int) error {
		_, err := logs[w].Append(ctx, session.ItemDraft(item(sessions.NewID()), false, nil))
		return err
	}
	window := 2 * time.Second
	if b.quick {
		window = 200 * time.Millisecond
	}
	var rates, bares, ratios []float64
	for i := range b.rounds(5, 2) {
		var rate, bareRate float64
		one := func() (err error) { rate, err = perSecond(window, store); return err }
		other := func() (err error) {
			bareRate, err = perSecond(window, func(w int) error {
				return bare.append(ctx, w, session.ItemDraft(item(sessions.NewID()), false, nil).Payload)
			})
			return err
		}
		switch {
		case bare == nil:
			err = one()
		case i%2 == 0:
			err = errors.Join(one(), other())
		default:
			err = errors.Join(other(), one())
		}
		if err != nil {
			return err
		}
		rates, bares, ratios = append(rates, rate), append(bares, bareRate), append(ratios, rate/bareRate)
	}
	row := []string{fmt.Sprintf("%.0f items/s", middle(rates)), "", ""}
	if bare != nil {
		row[1], row[2] = fmt.Sprintf("%s, 64 at once %.0f items/s", be.control, middle(bares)), quartiles(ratios, "× as many")
	}
	b.add("64 writers of 64 sessions, "+be.name, row[0], row[1], row[2], "")
	return nil
}

// perSecond has 64 writers call f repeatedly for a while, and returns their calls per second.
func perSecond(window time.Duration, f func(writer int) error) (float64, error) {
	var done atomic.Int64
	errs := make([]error, writers)
	begun := time.Now()
	var all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for time.Since(begun) < window {
				if errs[w] = f(w); errs[w] != nil {
					return
				}
				done.Add(1)
			}
		})
	}
	all.Wait()
	return float64(done.Load()) / time.Since(begun).Seconds(), errors.Join(errs...)
}

func closeStore(s session.Store) {
	if c, ok := s.(io.Closer); ok {
		_ = c.Close() // a benchmark's temporary store
	}
}
