package sessiontest

import (
	"context"
	"testing"
	"time"

	"github.com/holdfast-dev/holdfast/session"
)

// Caps says what a store can and cannot do. The zero value suits most.
type Caps struct {
	// Reopen opens a second client of the data behind s while s stays open, as
	// another process would. Nil when there is no such thing.
	Reopen func(t testing.TB, s session.Store) session.Store
	// FoldsCase is for a medium on which "A" and "a" are one name: the second
	// of two such ids is then expected to be refused with ErrExists.
	FoldsCase bool
	// MaxPayload is the largest payload in bytes; 0 means 10 MiB are tried.
	MaxPayload int
}

// Run runs the kit on stores that open returns. Every call of open must return
// a new, empty store and arrange, with t.Cleanup, for it to be closed.
func Run(t *testing.T, open func(t testing.TB) session.Store, caps Caps) {
	for _, c := range []struct {
		name string
		test func(*env)
	}{
		{"append/keeps order and content", testOrder},
		{"append/batches are whole", testBatch},
		{"append/expects the head", testCAS},
		{"append/recognises a retry", testRetry},
		{"append/creates once", testCreate},
		{"append/needs a session", testMissing},
		{"append/big payload", testBigPayload},
		{"append/long log", testLongLog},
		{"append/exact bytes", testExactBytes},
		{"append/cancelled is all or nothing", testCancel},
		{"append/times may run backwards", testSkew},
		{"append/keeps no memory of the caller", testAliasing},
		{"append/one of many wins each seq", testRace},
		{"append/many sessions at once", testManySessions},
		{"meta/follows from the records", testMeta},
		{"meta/counts open questions", testQuestions},
		{"meta/knows its run", testRun},
		{"meta/can be replaced", testPutMeta},
		{"read/ranges", testRanges},
		{"read/stops when told", testStop},
		{"read/cancelled", testReadCancelled},
		{"read/while appending", testReadWhileAppending},
		{"read/through a second client", testSecondClient},
		{"ids/are taken literally", testIDs},
		{"ids/case", testCase},
		{"list/newest first", testListOrder},
		{"list/filters", testListFilters},
		{"list/who asks", testListAsked},
		{"list/runs", testListRuns},
		{"list/pages without gaps", testListPages},
		{"list/foreign cursor", testListCursor},
		{"lease/one holder", testLeaseBusy},
		{"lease/steal", testLeaseSteal},
		{"lease/renew and release", testLeaseRenew},
		{"lease/who holds it", testLeaseHeld},
		{"lease/fences the former holder", testLeaseFences},
		{"lease/shared records need none", testLeaseShared},
		{"lease/one of many acquires", testLeaseRace},
		{"fork/goes on from its base", testFork},
		{"fork/of what is not there", testForkMissing},
		{"fork/begins with more than one record", testForkCut},
		{"erase/keeps all but the payloads", testErase},
		{"erase/needs the lease", testEraseFenced},
		{"erase/of what is not there", testEraseMissing},
		{"erase/is seen by forks", testEraseFork},
		{"erase/is seen by a second client", testEraseSecondClient},
		{"erase/what lists show can be replaced", testErasePrompt},
		{"delete/is gone", testDelete},
		{"delete/forks keep what they need", testDeleteParent},
		{"delete/the last fork frees its parents", testDeleteLast},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.test(&env{T: t, open: open, caps: caps, store: open(t)})
		})
	}
}

// env is one subtest: a store and short words for what is done with it.
type env struct {
	*testing.T
	open  func(testing.TB) session.Store
	caps  Caps
	store session.Store
}

func (e *env) ctx() context.Context { return e.Context() }

// epoch is when the kit's records begin to be written.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// leaser returns the store's leases or ends the subtest.
func (e *env) leaser() session.Leaser {
	e.Helper()
	l, ok := session.As[session.Leaser](e.store)
	if !ok {
		e.Skip("the store is no session.Leaser; a store that is runs this by itself")
	}
	return l
}

func (e *env) eraser() session.Eraser {
	e.Helper()
	er, ok := session.As[session.Eraser](e.store)
	if !ok {
		e.Skip("the store is no session.Eraser; a store that is runs this by itself")
	}
	return er
}

func (e *env) deleter() session.Deleter {
	e.Helper()
	d, ok := session.As[session.Deleter](e.store)
	if !ok {
		e.Skip("the store is no session.Deleter; a store that is runs this by itself")
	}
	return d
}
