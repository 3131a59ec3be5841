#include "dense_product.h"

#include <vector>

#include "check.h"

using namespace labelwood;

TEST(dense_products_are_added_up_feature_by_feature_for_any_number_of_threads) {
  for (int64_t n_rows : {0, 1, 65, 130})
    for (int64_t n_features : {0, 1, 9})
      for (int64_t n_columns : {0, 1, 16, 17, 300}) {
        std::vector<float> rows(n_rows * n_features), matrix(n_features * n_columns);
        for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<float>(i * 37 % 101) / 7 - 5;
        for (size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i * 53 % 97) / 11 - 4;
        for (int n_threads : {1, 3}) {
          const auto found =
              dense_product({rows.data(), n_rows, n_features}, {matrix.data(), n_features, n_columns}, n_threads);
          CHECK(static_cast<int64_t>(found.size()) == n_rows * n_columns);
          for (int64_t i = 0; i < n_rows; ++i)
            for (int64_t j = 0; j < n_columns; ++j) {
              float sum = 0;
              for (int64_t f = 0; f < n_features; ++f) sum += matrix[f * n_columns + j] * rows[i * n_features + f];
              CHECK(found[i * n_columns + j] == sum);
            }
        }
      }
}
