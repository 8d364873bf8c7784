// SPDX-License-Identifier: Apache-2.0
#include "benchmark/benchmark.h"
#include "locus/engine/memory.h"
#include "locus/number_generator.h"

namespace locus {
namespace {

// {date:yyyyMMdd}{seq:12} of a day in Shanghai, the result a std::string.
void NumberGeneratorNext(benchmark::State& state) {
  static NumberGenerator& generator = *[] {
    auto types = std::make_shared<MemorySequenceTypeStore>();
    SequenceType type;
    type.name = "invoices";
    type.period = SequenceType::Period::kDay;
    type.zone = "Asia/Shanghai";
    type.pattern = "{date:yyyyMMdd}{seq:12}";
    type.buffer = 1 << 24;
    type = types->Create(type).value();
    auto open = [](const SequencerOptions& options) -> absl::StatusOr<std::shared_ptr<Sequencer>> {
      return std::shared_ptr<Sequencer>(MemorySequencer::Create(options).value());
    };
    return NumberGenerator::Create(types, open, "invoices", "bench").value().release();
  }();
  for (auto _ : state) {
    absl::StatusOr<std::string> number = generator.TryNext();
    if (!number.ok()) [[unlikely]] {
      number = generator.Next(absl::Seconds(10));
      if (!number.ok()) return state.SkipWithError("no number");
    }
    benchmark::DoNotOptimize(number->data());
  }
}
BENCHMARK(NumberGeneratorNext)->Threads(1)->Threads(2);

}  // namespace
}  // namespace locus
