// Compares a partitioner with recorded answers on standard input; put yours in the place of `partition`.
//
//	xz -dc keys.jsonl.xz profiles/java.jsonl.xz | go run runner.go [franz-go|sarama]
package main

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"

	"github.com/IBM/sarama"
	"github.com/twmb/franz-go/pkg/kgo"
)

type line struct {
	Keys       json.RawMessage // of the first line a list of keys, of the others which of them were asked
	Count      int
	Partitions []*int
}

func main() {
	partition := func(key []byte, count int) int {
		return kgo.StickyKeyPartitioner(nil).ForTopic("topic").Partition(&kgo.Record{Key: key}, count)
	}
	if len(os.Args) > 1 && os.Args[1] == "sarama" {
		partition = func(key []byte, count int) int {
			message := &sarama.ProducerMessage{Key: sarama.ByteEncoder(key)}
			found, _ := sarama.NewMurmur2Partitioner("topic").Partition(message, int32(count))
			return int(found)
		}
	}
	var keys []*string
	total, wrong := 0, 0
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var read line
		if err := json.Unmarshal(lines.Bytes(), &read); err != nil {
			panic(err)
		}
		if keys == nil {
			if err := json.Unmarshal(read.Keys, &keys); err != nil {
				panic(err)
			}
			continue
		}
		for row, expected := range read.Partitions {
			if expected == nil { // a key that the rule does not hash goes anywhere
				continue
			}
			total++
			key, _ := hex.DecodeString(*keys[row])
			if found := partition(key, read.Count); found != *expected {
				if wrong++; wrong <= 3 {
					fmt.Printf("key %s, %d partitions: %d, not %d\n", *keys[row], read.Count, found, *expected)
				}
			}
		}
	}
	fmt.Printf("%d of %d are equal\n", total-wrong, total)
	if wrong > 0 {
		os.Exit(1)
	}
}
