// Command tool gives an agent two tools of the program: Price, which only reads, and Order, which
// needs an approval.
//
//	go run ./examples/tool
package main

import (
	"context"
	_ "embed"
	"fmt"
	"log"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/approval"
	"github.com/holdfast-dev/holdfast/model/scripted"
	"github.com/holdfast-dev/holdfast/tool"
)

//go:embed script.yaml
var script []byte // takes the place of a model, so that the program runs without a key

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	price, err := tool.New(tool.Spec{Name: "Price", Description: "Returns the price of an item.", ReadOnly: true}, lookUp, nil)
	if err != nil {
		return err
	}
	order, err := tool.New(tool.Spec{Name: "Order", Description: "Orders an item."}, buy, nil)
	if err != nil {
		return err
	}
	model, err := scripted.New(script, nil)
	if err != nil {
		return err
	}
	rt, err := holdfast.Open(ctx, &holdfast.Config{Model: model, Tools: []tool.Tool{price, order}, Approve: approve})
	if err != nil {
		return err
	}
	defer rt.Close()
	r, err := rt.Start(ctx, holdfast.RunSpec{Prompt: "order two lamps"})
	if err != nil {
		return err
	}
	result, err := r.Wait(ctx)
	if err != nil {
		return err
	}
	fmt.Println(result.Text)
	return result.Err
}

// priceInput is the input of Price. Its JSON Schema, which the model sees, is made from the struct.
type priceInput struct {
	Item string `json:"item" jsonschema:"the name of the item"`
}

func lookUp(_ context.Context, _ *tool.Call, in priceInput) (tool.Result, error) {
	fmt.Println("price of", in.Item)
	return tool.Text("12 EUR"), nil
}

// orderInput is the input of Order.
type orderInput struct {
	Item     string `json:"item"`
	Quantity int    `json:"quantity"`
}

func buy(_ context.Context, _ *tool.Call, in orderInput) (tool.Result, error) {
	if in.Quantity < 1 {
		return tool.Result{}, fmt.Errorf("invalid quantity %d", in.Quantity) // the model gets the error and can try again
	}
	return tool.Text(fmt.Sprintf("ordered %d × %s", in.Quantity, in.Item)), nil
}

func approve(_ context.Context, q approval.Request) (approval.Answer, error) {
	fmt.Println("approve", q.Tool, string(q.Requests[0].Input))
	return approval.Answer{Decision: approval.Allow}, nil
}
