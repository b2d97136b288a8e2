package sandbox

import (
	"os"
	"testing"
	"time"
)

func TestScanCache(t *testing.T) {
	root := plant(t, "a/b/.git/", "c/")
	var s scanner
	count := func() int { return len(s.scan(root).names) }
	if first, again := count(), count(); first != 1 || again != 1 {
		t.Error("the repository is not found twice")
	}
	for f := range s.seen { // as if it had been scanned long after the last change
		s.seen[f].state.looked += int64(time.Hour)
	}
	before := s.seen[root]
	if count(); s.seen[root] != before {
		t.Error("what has not changed is read again")
	}
	added := plant(t, ".git/")
	if err := os.Rename(added+"/.git", root+"/c/.git"); err != nil {
		t.Fatal(err)
	}
	if n := count(); n != 2 {
		t.Errorf("%d repositories after one was added", n)
	}
}
