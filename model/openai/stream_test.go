package openai_test

import (
	"testing"

	"github.com/holdfast-dev/holdfast/model"
	"github.com/holdfast-dev/holdfast/model/internal/modeltest"
)

func TestStream(t *testing.T) {
	modeltest.Streams(t, func(url string) model.Model { return newModel(t, url) })
}
